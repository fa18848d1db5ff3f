#include "cpu/plan/product/GemmPlan.h"

namespace smalti::cpu {

const GemmShape& GemmPlan::shape() const {
  return std::visit([](const auto& l) -> const GemmShape& { return l.shape; }, layout);
}

bool multipliesBf16Pairs(DType a, DType b, const Processor& p) {
  return a == DType::bf16 && b == DType::bf16 && p.fastBf16Dot;
}

bool multipliesAsF32(DType a, DType b, const Processor& p) {
  return a != DType::bf16 || b != DType::bf16 || !(p.fastBf16Dot || hasTiles(p));
}

GemmPlan planGemm(const GemmShape& shape, const Processor& processor) {
  if (usesTiles(shape, processor)) {
    const TileLayout l = layOutTiles(shape, processor);
    return {.layout = l,
            .tileRows = 2 * kTileRows,
            .tileColumns = kPanelColumns,
            .blockRows = l.blockRows,
            .blockColumns = l.blockColumns,
            .blockDepth = l.blockDepth,
            .packedBytes = l.workspaceBytes,
            .packedCacheBytes = l.packedCacheBytes,
            .packsA = l.packA,
            .packsB = true};
  }
  const Layout l = layOut(shape, processor);
  return {.layout = l,
          .tileRows = l.rows,
          .tileColumns = l.columns(),
          .blockRows = l.blockRows,
          .blockColumns = l.blockColumns,
          .blockDepth = l.blockDepth,
          .packedBytes = l.workspaceBytes,
          .packedCacheBytes = l.packedCacheBytes,
          .packsA = l.packA,
          .packsB = l.packB,
          .usesDot = l.product == Product::bf16Dot || l.product == Product::i8Dot,
          .mayUseUnpackedB = l.mayUseUnpackedB};
}

}  // namespace smalti::cpu
