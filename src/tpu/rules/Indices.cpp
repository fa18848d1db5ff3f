// Dynamic starts of loads and stores must be provable multiples of the tile.
#include <fmt/format.h>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "ir/TpuOps.h"
#include "tpu/Multiple.h"
#include "tpu/Tiling.h"
#include "tpu/View.h"
#include "tpu/rules/Index.h"
#include "tpu/rules/Reasons.h"
#include "tpu/rules/Table.h"

namespace smalti::tpu {

std::string proofText(mlir::Value index, int64_t wanted) {
  const int64_t have = knownMultiple(index);
  if (const auto constant = constantOf(index)) return fmt::format("{}, which is not one", *constant);
  if (const std::string number = counterexampleOf(index, wanted); !number.empty())
    return fmt::format("{}, which is not one: it is {}", derivationOf(index), number);
  const std::string culprit = culpritOf(index, wanted);
  std::string text = fmt::format("{}, provably a multiple of {} only", derivationOf(index), have);
  if (!culprit.empty()) text += ": nothing is known of " + culprit;
  return text;
}

std::string multipleHelp(mlir::Value index, int64_t wanted) {
  mlir::Operation* op = index.getDefiningOp();
  while (op && mlir::isa<mlir::arith::IndexCastOp>(op)) op = op->getOperand(0).getDefiningOp();
  const bool isNone = !counterexampleOf(index, wanted).empty();
  if (auto product = mlir::dyn_cast_or_null<mlir::arith::MulIOp>(op))
    for (const mlir::Value side : product->getOperands())
      if (const auto factor = constantOf(side); factor && *factor > 0 && *factor % wanted != 0)
        return fmt::format(
            "multiply by a multiple of {} instead of {}, such as {}{}", wanted, *factor,
            (*factor + wanted - 1) / wanted * wanted,
            isNone ? std::string()
                   : fmt::format("; or, if the index always is one all the same, say so: pl.multiple_of(index, {})",
                                 wanted));
  if (isNone) return fmt::format("multiply it by {}, or move the step to a leading dimension of the array", wanted);
  return fmt::format("if it always is one, say so: pl.multiple_of(index, {}); or multiply what is unknown by {}",
                     wanted, wanted);
}

namespace {

int64_t rowsOf(mlir::VectorType v) { return v.getRank() < 2 ? 1 : v.getShape()[v.getRank() - 2]; }

/// The rows of a slice that are a part of a tile, several of which are side by side.
std::optional<int64_t> partialTiles(mlir::Value ref, const View& view, const Chip& chip) {
  while (auto squeeze = ref.getDefiningOp<MemRefSqueezeOp>()) ref = squeeze.getInput();
  auto slice = ref.getDefiningOp<MemRefSliceOp>();
  if (!slice) return std::nullopt;
  const auto shape = mlir::cast<mlir::MemRefType>(slice.getResult().getType()).getShape();
  if (shape.size() != view.rank() || shape.size() < 2 || shape.back() <= kLanes) return std::nullopt;
  const int64_t rows = shape[shape.size() - 2];
  if (mlir::ShapedType::isDynamic(rows) || rows == view.array.shape[view.rank() - 2]) return std::nullopt;
  return rows % view.tile(chip, view.rank() - 2) == 0 ? std::nullopt : std::optional(rows);
}

void onAccess(mlir::Operation* op, const Judge& judge) {
  mlir::Value base;
  mlir::ValueRange indices;
  mlir::VectorType vector;
  const bool isRead = mlir::isa<mlir::vector::LoadOp>(op);
  if (auto load = mlir::dyn_cast<mlir::vector::LoadOp>(op)) {
    base = load.getBase(), indices = load.getIndices(), vector = load.getVectorType();
  } else if (auto store = mlir::dyn_cast<mlir::vector::StoreOp>(op)) {
    base = store.getBase(), indices = store.getIndices(), vector = store.getVectorType();
  } else if (auto store = mlir::dyn_cast<VectorStoreOp>(op)) {
    base = store.getBase(), indices = store.getIndices();
    vector = mlir::cast<mlir::VectorType>(store.getValueToStore().getType());
  } else {
    return;
  }
  const auto view = viewOf(base);
  if (!view || !view->isTiled()) return;
  const bool word = elementBits(view->array.dtype) == 32;
  if (const auto part = partialTiles(base, *view, judge.chip); part && !(word && rowsOf(vector) == 1) && isRead)
    return judge.refuse(
        reason::kUnsupportedOp, op->getLoc(),
        {.message = "Loads from refs with tiles non-contiguous along minor dimension unsupported",
         .need = fmt::format("a slice of whole tiles: a multiple of {} rows", view->tile(judge.chip, view->rank() - 2)),
         .have = fmt::format("{} rows of {}", *part, view->array.str()),
         .help = "slice whole tiles, or index the ref once instead of a slice of it"});
  for (size_t i = 0; i < indices.size(); ++i) {
    if (constantOf(indices[i])) continue;
    const size_t d = view->dimensions[i];
    const int64_t tile = view->tile(judge.chip, d);
    const int64_t size = vector.getShape()[i];
    const bool anyRow = view->isRow(d) && word && (view->array.shape.back() <= kLanes || size == 1);
    if (anyRow || knownMultiple(indices[i]) % tile == 0) continue;
    return judge.refuse(
        reason::kUnalignedIndex, op->getLoc(),
        {.message = fmt::format("cannot statically prove that index in dimension {} is a multiple of {}", i, tile),
         .need = fmt::format("a multiple of {} along dimension {} of {}", tile, i, view->array.str()),
         .have = proofText(indices[i], tile),
         .help = multipleHelp(indices[i], tile)});
  }
}

}  // namespace

std::span<const Rule> indexRules() {
  static constexpr Rule kRules[]{{.onOp = onAccess}};
  return kRules;
}

}  // namespace smalti::tpu
