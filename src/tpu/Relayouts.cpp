#include "tpu/Relayouts.h"

#include <algorithm>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "ir/Types.h"
#include "tpu/Registers.h"
#include "tpu/Tiling.h"

namespace smalti::tpu {
namespace {

constexpr int64_t kTileRows = 8;
/// A tile that is stored in one order and loaded in another, with an additional row.
constexpr int64_t kRelayoutTileRows = 9;
constexpr int kRegistersShuffle = 6;  ///< the first generation whose registers do that

int64_t rowsOf(const Shape& s) { return s.size() < 2 ? 1 : s[s.size() - 2]; }
int64_t allRowsOf(const Shape& s) {
  int64_t n = 1;
  for (size_t d = 0; d + 1 < s.size(); ++d) n *= s[d];
  return n;
}

/// Rows of `from` at a time become rows of `to` at a time, with the lanes that they have.
int64_t regroups(const ArrayType& from, const ArrayType& to, const Chip& chip) {
  const int64_t r = rowsOf(from.shape), q = rowsOf(to.shape);
  if (r == q || (r == 1 && elementBits(from.dtype) == 32)) return 0;
  if (q == 1)
    return r % kTileRows == 0 && elementBits(from.dtype) >= 8 && !chip.takes.sublaneGather ? kRelayoutTileRows : 0;
  const bool tiles = r % kTileRows == 0 && q % kTileRows == 0;
  const bool partsOfTiles = r % kTileRows == 0 && kTileRows % q == 0 && chip.takes.sublaneGather;
  return tiles || partsOfTiles ? 0 : kRelayoutTileRows;
}

/// Rows become lanes or lanes rows.
int64_t refolds(const ArrayType& from, const ArrayType& to, const Chip& chip) {
  const int64_t r = rowsOf(from.shape), q = rowsOf(to.shape), lanes = from.shape.back(), newLanes = to.shape.back();
  if (newLanes == 1 || lanes == 1) return 0;
  const bool wide = lanes % kLanes == 0 && newLanes % kLanes == 0;
  const bool isPacked = elementBits(from.dtype) < 32;
  if (isPacked && from.shape.size() > 2 && r < kTileRows && newLanes > lanes) return kRelayoutTileRows;
  const bool manyRows = r % kTileRows == 0 && q % kTileRows == 0;
  if (wide && from.shape.size() == 2 && to.shape.size() == 2 && manyRows && newLanes > kLanes) return kRelayoutTileRows;
  if (chip.takes.sublaneGather) return 0;
  if (!wide) return allRowsOf(from.shape.size() > 2 ? to.shape : from.shape);  // row by row
  return newLanes > lanes && from.shape.size() == 2 && (!isPacked || to.shape.size() == 2) ? kRelayoutTileRows : 0;
}

int64_t registersFor(mlir::vector::ShapeCastOp cast, const Chip& chip) {
  const auto from = arrayTypeOf(cast.getSource().getType()), to = arrayTypeOf(cast.getType());
  if (!from || !to || from->shape.empty() || to->shape.empty() || from->elements() <= kLanes) return 0;
  return from->shape.back() == to->shape.back() ? regroups(*from, *to, chip) : refolds(*from, *to, chip);
}

/// Elements of at most 8 bits that become wider, or wider ones that become those.
bool isNarrowCast(mlir::Operation* op) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 1 || mlir::isa<mlir::vector::BroadcastOp>(op)) return false;
  const auto from = mlir::dyn_cast<mlir::VectorType>(op->getOperand(0).getType());
  const auto to = mlir::dyn_cast<mlir::VectorType>(op->getResult(0).getType());
  if (!from || !to || from.getShape() != to.getShape() || from.getElementType() == to.getElementType()) return false;
  const auto isNarrow = [](mlir::VectorType t) {
    return t.getElementType().isIntOrFloat() && t.getElementTypeBitWidth() <= 8 && t.getElementTypeBitWidth() > 1;
  };
  return isNarrow(from) || isNarrow(to);
}

}  // namespace

std::optional<KeptValue> relayoutBytes(const KernelPackage& kernel, const Chip& chip) {
  if (chip.device.generation >= kRegistersShuffle) return std::nullopt;
  int64_t moves = 0, casts = 0;
  mlir::Value most;
  kernel.kernelFunction().walk([&](mlir::Operation* op) {
    int64_t here = 0;
    if (auto cast = mlir::dyn_cast<mlir::vector::ShapeCastOp>(op)) here = registersFor(cast, chip);
    if (!chip.takes.sublaneGather && isNarrowCast(op)) casts = 1;
    if (here > moves || (casts > 0 && !most)) most = op->getResult(0);
    moves = std::max(moves, here);
  });
  if (moves + casts == 0) return std::nullopt;
  return KeptValue{"rows and lanes that change places", arrayTypeOf(most.getType()).value_or(ArrayType{}),
                   (moves + casts) * kRegisterBytes, smalti::placeOf(most.getLoc()), true};
}

}  // namespace smalti::tpu
