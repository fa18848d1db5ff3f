#include "cpu/lower/Turns.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace smalti::cpu {
namespace {

/// Whether points that differ on this axis alone may have the same block: its index is not used, or looked up.
bool maySee(mlir::func::FuncOp map, size_t axis) {
  return llvm::all_of(map.getArgument(static_cast<unsigned>(axis)).getUsers(), [](mlir::Operation* op) {
    const auto looksUp = [](mlir::Operation* user) { return llvm::isa<mlir::memref::LoadOp>(user); };
    return looksUp(op) || (llvm::isa<mlir::arith::IndexCastOp>(op) && llvm::all_of(op->getUsers(), looksUp));
  });
}

/// By axis: whether the coordinate depends on it.
std::vector<bool> axesOf(mlir::Value coordinate, size_t rank) {
  std::vector<bool> axes(rank);
  llvm::SmallVector<mlir::Value> from{coordinate};
  llvm::DenseSet<mlir::Value> seen;
  while (!from.empty()) {
    const mlir::Value v = from.pop_back_val();
    if (!seen.insert(v).second) continue;
    if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(v)) {
      if (argument.getArgNumber() < rank) axes[argument.getArgNumber()] = true;
    } else {
      from.append(v.getDefiningOp()->operand_begin(), v.getDefiningOp()->operand_end());
    }
  }
  return axes;
}

}  // namespace

std::optional<std::vector<size_t>> seenByTurns(mlir::func::FuncOp map, const Window& window, const Shape& array,
                                               const std::vector<int64_t>& grid, const StepOrder& order) {
  if (maySee(map, order.fastest)) return std::vector<size_t>{};
  if (window.elementIndexed) return std::nullopt;
  std::vector<size_t> turning;
  int64_t blocks = 1;
  std::vector<bool> moves(grid.size());  // axes that lead to other blocks than those
  mlir::Operation* end = map.getBody().front().getTerminator();
  for (unsigned d = 0; d < end->getNumOperands(); ++d) {
    const std::vector<bool> axes = axesOf(end->getOperand(d), grid.size());
    if (!axes[order.fastest]) {
      for (size_t a = 0; a < grid.size(); ++a) moves[a] = moves[a] || axes[a];
      continue;
    }
    if (window.bounds[d] == 0 || array[d] < window.bounds[d]) return std::nullopt;
    turning.push_back(d);
    blocks *= array[d] / window.bounds[d];
  }
  int64_t steps = 1;
  for (const size_t a : order.axes) {
    if (grid[a] == kDynamicBound || (moves[a] && grid[a] > 1)) break;
    steps *= grid[a];
  }
  if (steps <= blocks) return std::nullopt;
  return turning;
}

}  // namespace smalti::cpu
