// Reshapes of values and of refs.
#include <fmt/format.h>

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "tpu/Tiling.h"
#include "tpu/View.h"
#include "tpu/rules/Reasons.h"
#include "tpu/rules/Table.h"

namespace smalti::tpu {
namespace {

int64_t elements(const Shape& s) {
  int64_t n = 1;
  for (int64_t d : s) n *= d;
  return n;
}

/// Is the last dimension of `folded` several of `shape`, with dimensions before them on both sides?
bool isTailOf(const Shape& folded, const Shape& shape) {
  if (folded.size() < 2) return false;
  int64_t tail = 1;
  for (size_t i = shape.size(); i > 1 && tail < folded.back(); --i) tail *= shape[i - 1];
  return tail == folded.back();
}

bool isShapeCastTaken(const Shape& from, const Shape& to) {
  if (from.empty() || to.empty()) return true;
  const int64_t a = from.back(), b = to.back();
  if (a == b || a == 1 || b == 1) return true;
  if (a % kLanes == 0 && b % kLanes == 0) return true;
  if (a <= kLanes && b <= kLanes && (a % b == 0 || b % a == 0)) return true;
  return isTailOf(from, to) || isTailOf(to, from);
}

/// Rows of several tiles that become one long row: whole tiles, or so few that they fill no more than a register.
bool flattens(const Chip& chip, const ArrayType& from, const Shape& to) {
  const Shape& s = from.shape;
  if (to.size() != 1 || s.size() < 3 || s.back() % kLanes != 0 || s.back() == to.back()) return true;
  const int64_t rows = s[s.size() - 2], packing = packingOf(from.dtype);
  if (rows % 8 == 0) return true;
  const bool one = elements(s) <= 8 * kLanes * packing;
  return s.back() == kLanes && 8 % rows == 0 && rows >= packing && (one || !chip.takes.sublaneGather);
}

void onShapeCast(mlir::Operation* op, const Judge& judge) {
  auto cast = mlir::dyn_cast<mlir::vector::ShapeCastOp>(op);
  if (!cast) return;
  // The compiler merges consecutive reshapes into one.
  const auto isCast = [](mlir::Operation* user) { return mlir::isa<mlir::vector::ShapeCastOp>(user); };
  if (!cast->use_empty() && llvm::all_of(cast->getUsers(), isCast)) return;
  mlir::Value source = cast.getSource();
  while (auto before = source.getDefiningOp<mlir::vector::ShapeCastOp>()) source = before.getSource();
  const auto from = arrayTypeOf(source.getType()), to = arrayTypeOf(cast.getType());
  if (!from || !to || from->shape == to->shape) return;
  const int64_t a = from->shape.empty() ? 1 : from->shape.back(), b = to->shape.empty() ? 1 : to->shape.back();
  bool taken = isShapeCastTaken(from->shape, to->shape) && flattens(judge.chip, *from, to->shape);
  const int64_t columnRows = to->shape.size() < 2 ? 1 : to->shape[to->shape.size() - 2];
  if (elementBits(from->dtype) == 16 && b == 1 && a != 1 && columnRows > kLanes && !judge.chip.takes.packedColumns)
    taken = false;
  // Lanes of several registers become rows of a part of one.
  if (a > kLanes && b > 1 && b < kLanes && !judge.chip.takes.sublaneGather) taken = false;
  const bool fromColumn = a == 1 && b > 1 && !from->shape.empty() && elements(from->shape) > 1;
  if (taken && fromColumn && !judge.chip.takes.sublaneGather)
    return judge.refuse(reason::kSublaneGather, op->getLoc(),
                        {.message = "Sublane gather not supported by this TPU generation",
                         .need = "rows that stay rows",
                         .have = fmt::format("{} to {}: rows become lanes", from->str(), to->str()),
                         .help = "keep the column, or transpose a full tile"});
  if (from->dtype == DType::pred && a > kLanes && a != b && to->shape.size() == 1 &&
      (from->shape.size() != 2 || from->shape[0] % 16 != 0))
    taken = false;
  if (taken && from->dtype == DType::pred && a > kLanes && a != b && to->shape.size() == 1)
    return judge.refuse(reason::kBoolRelayout, op->getLoc(),
                        {.message = "changeBitwidth when src bitwidth and dst bitwidth differs too much",
                         .need = "numbers",
                         .have = fmt::format("{} to {}", from->str(), to->str()),
                         .help = "reshape as i32, and compare with 0"});
  if (from->dtype == DType::pred && b > kLanes && b != a && from->shape.size() > 2 &&
      from->shape[from->shape.size() - 2] % 8 != 0)
    taken = false;
  if (taken && from->dtype == DType::pred && a > kLanes && a != b)
    return judge.refuse(reason::kUnsupportedOp, op->getLoc(),
                        {.message = "the compiler ends in a failed check of its own at reshapes of masks",
                         .need = "numbers",
                         .have = fmt::format("{} to {}", from->str(), to->str()),
                         .help = "reshape as i32, and compare with 0"});
  if (taken) return;
  judge.refuse(reason::kShapeCast, op->getLoc(),
               {.message = "infer-vector-layout: unsupported shape cast",
                .need = "equal last dimensions, multiples of 128, or one that divides the other and both at most 128",
                .have = fmt::format("{} to {}", from->str(), to->str()),
                .help = "keep the last dimension, or reshape the array outside of the kernel"});
}

/// jnp.stack along a new last axis: columns side by side. On some chips packed columns overflow VMEM.
void onStack(mlir::Operation* op, const Judge& judge) {
  auto join = mlir::dyn_cast<ConcatenateOp>(op);
  if (!join || join.getSources().empty()) return;
  const auto column = arrayTypeOf(join.getSources()[0].getType());
  if (!column || column->shape.size() < 3 || join.getDimension() + 1 != static_cast<int64_t>(column->shape.size()) ||
      column->shape.back() != 1)
    return;
  const int64_t bits = elementBits(column->dtype);
  if (!(bits == 16 && !judge.chip.takes.packedStack) && !(bits == 8 && !judge.chip.takes.byteStack)) return;
  judge.refuse(reason::kVmem, op->getLoc(),
               {.message = "Ran out of memory in memory space vmem: packed columns are joined to rows",
                .need = "32-bit elements, or arrays joined along another axis",
                .have = fmt::format("{} columns of {}", join.getSources().size(), column->str()),
                .help = "convert to 32 bits before stacking, or stack along an earlier axis"});
}

int64_t rowsOf(const ArrayType& ref) { return ref.shape.size() < 2 ? 1 : ref.shape[ref.shape.size() - 2]; }

/// The tiles of a ref. Reshapes keep them, except those that make rows of other lengths of what is linear in memory.
struct RefTiles {
  int64_t rows = 1;
  bool areFull = true;  ///< no padding between the rows of one tile and those of the next
};

bool becomesLinear(const ArrayType& from, const ArrayType& to, const RefTiles& tiles) {
  const int64_t lanes = from.shape.back(), newLanes = to.shape.back();
  return elementBits(from.dtype) == 32 && lanes % kLanes == 0 && newLanes % kLanes == 0 &&
         (tiles.rows == 1 || lanes == kLanes);
}

RefTiles tilesOf(const Chip& chip, mlir::Value ref) {
  const auto type = arrayTypeOf(ref.getType());
  if (!type) return {};
  if (auto reshape = ref.getDefiningOp<MemRefReshapeOp>()) {
    const auto from = arrayTypeOf(reshape.getInput().getType());
    if (!from || from->shape.size() < 2 || type->shape.size() < 2) return {};
    const RefTiles tiles = tilesOf(chip, reshape.getInput());
    if (from->shape.back() != type->shape.back() && becomesLinear(*from, *type, tiles)) return {};
    return tiles;
  }
  const int64_t rows = rowsOf(*type), tile = tileRows(chip, type->dtype, rows);
  return {tile, rows % tile == 0};
}

bool isContiguous(const ArrayType& ref, const RefTiles& tiles) {
  return tiles.areFull || elements(ref.shape) == rowsOf(ref) * ref.shape.back();
}

/// Do the last two dimensions stay, but for rows that are split or joined at whole tiles, or in memory whose rows
/// follow each other as they do in an array without tiles? Only accesses need whole tiles of words (`isAccessed`).
bool keepsTiles(const ArrayType& from, const ArrayType& to, const RefTiles& tiles, bool isAccessed) {
  if (from.shape.empty() || to.shape.empty()) return false;
  const bool isWords = elementBits(from.dtype) == 32;
  const int64_t lanes = from.shape.back(), newLanes = to.shape.back();
  if (from.shape.size() == 1 || to.shape.size() == 1) {
    const bool isLinear =
        isWords && (from.shape.size() == 1 ? newLanes == kLanes : lanes == kLanes && newLanes % kLanes == 0);
    return isLinear || (from.shape.size() == to.shape.size() && lanes == newLanes);
  }
  const bool isOneTileWide = isWords && lanes <= kLanes;
  const bool keepsRows = lanes == newLanes && rowsOf(from) == rowsOf(to);
  if (keepsRows && !isOneTileWide && (!tiles.areFull || rowsOf(to) % tiles.rows == 0)) return true;
  if (!isContiguous(from, tiles)) return false;
  if (becomesLinear(from, to, tiles)) return true;
  if (lanes != newLanes) return false;
  return isOneTileWide || (tiles.areFull && ((isWords && !isAccessed) || rowsOf(to) % tiles.rows == 0));
}

void onRefReshape(mlir::Operation* op, const Judge& judge) {
  auto reshape = mlir::dyn_cast<MemRefReshapeOp>(op);
  if (!reshape) return;
  const auto view = viewOf(reshape.getInput());
  const auto from = arrayTypeOf(reshape.getInput().getType()), to = arrayTypeOf(reshape.getType());
  if (!view || !from || !to || !view->isTiled()) return;
  const RefTiles tiles = tilesOf(judge.chip, reshape.getInput());
  const bool isAccessed =
      op->use_empty() || llvm::any_of(op->getUsers(), [](auto* user) { return !mlir::isa<MemRefReshapeOp>(user); });
  if (keepsTiles(*from, *to, tiles, isAccessed)) return;
  const int64_t tile = view->rank() >= 2 ? tiles.rows : kLanes;
  if (from->shape.size() >= 2 && !isContiguous(*from, tiles)) {
    judge.refuse(reason::kRefReshape, op->getLoc(),
                 {.message = "Reshape on a non-contiguous memref: its rows are padded to whole tiles",
                  .need = fmt::format("a multiple of {} rows", tile),
                  .have = fmt::format("{} as {}", from->str(), to->str()),
                  .help = "reshape the value that is loaded, or make the rows whole tiles"});
    return;
  }
  judge.refuse(
      reason::kRefReshape, op->getLoc(),
      {.message = "memref reshape: Supported only when tiled dimensions remain unchanged, except for tile-aligned "
                  "folding or unfolding",
       .need = fmt::format("the last dimension {}, and rows cut at multiples of {}",
                           from->shape.empty() ? 1 : from->shape.back(), tile),
       .have = fmt::format("{} as {}", from->str(), to->str()),
       .help = "reshape the value that is loaded, or the array outside of the kernel"});
}

}  // namespace

std::span<const Rule> reshapeRules() {
  static constexpr Rule kRules[]{{.onOp = onShapeCast}, {.onOp = onRefReshape}, {.onOp = onStack}};
  return kRules;
}

}  // namespace smalti::tpu
