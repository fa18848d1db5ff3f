#include "cpu/plan/product/GemmPlan.h"

namespace smalti::cpu {
namespace {

/// What both kinds of layout have.
template <class AnyLayout>
GemmPlan planOf(const AnyLayout& l) {
  return {.layout = l,
          .blockRows = l.blockRows,
          .blockColumns = l.blockColumns,
          .blockDepth = l.blockDepth,
          .packedBytes = l.workspaceBytes,
          .packedCacheBytes = l.packedCacheBytes,
          .packsA = l.packA};
}

}  // namespace

const GemmShape& GemmPlan::shape() const {
  return std::visit([](const auto& l) -> const GemmShape& { return l.shape; }, layout);
}

bool multipliesAsF32(DType a, DType b, const Processor& p) {
  return a != DType::bf16 || b != DType::bf16 || !(p.fastBf16Dot || hasTiles(p));
}

GemmPlan planGemm(const GemmShape& shape, const Processor& processor) {
  if (usesTiles(shape, processor)) {
    GemmPlan plan = planOf(layOutTiles(shape, processor));
    plan.tileRows = 2 * kTileRows;
    plan.tileColumns = kPanelColumns;
    plan.packsB = true;
    return plan;
  }
  const Layout l = layOut(shape, processor);
  GemmPlan plan = planOf(l);
  plan.tileRows = l.rows;
  plan.tileColumns = l.columns();
  plan.packsB = l.packB;
  plan.usesDot = l.instruction == MultiplyAdd::bf16Dot || l.instruction == MultiplyAdd::i8Dot;
  plan.mayUseUnpackedB = l.mayUseUnpackedB;
  return plan;
}

}  // namespace smalti::cpu
