// Masks (vectors of bool) as values of their own: what moves them between registers, and what chooses between two.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "tpu/Tiling.h"
#include "tpu/rules/Reasons.h"
#include "tpu/rules/Table.h"

namespace smalti::tpu {
namespace {

std::optional<ArrayType> maskType(mlir::Value v) {
  if (!mlir::isa<mlir::VectorType>(v.getType())) return std::nullopt;
  auto type = arrayTypeOf(v.getType());
  return type && type->dtype == DType::pred ? type : std::nullopt;
}

/// Masks whose lanes stay lanes stay as they are.
void onTranspose(mlir::Operation* op, const Judge& judge) {
  auto transpose = mlir::dyn_cast<TransposeOp>(op);
  if (!transpose) return;
  const auto from = maskType(transpose.getOperand());
  if (!from) return;
  const auto order = transpose.getPermutation();
  const bool lanesStay = order.back() + 1 == static_cast<int64_t>(order.size());
  if (!lanesStay || llvm::is_sorted(order)) return;
  judge.refuse(reason::kUnsupportedOp, op->getLoc(),
               {.message = "i1 transpose is not supported",
                .need = "numbers, or a transpose that moves the last dimension",
                .have = fmt::format("{} with dimensions in the order {}", from->str(), fmt::join(order, ", ")),
                .help = "transpose as i32, and compare with 0"});
}

/// A mask that chooses between numbers is a register of its own; masks that are chosen between would have to be
/// numbers.
void onSelect(mlir::Operation* op, const Judge& judge) {
  auto select = mlir::dyn_cast<mlir::arith::SelectOp>(op);
  if (!select) return;
  const auto type = maskType(select.getTrueValue());
  if (!type) return;
  const bool fails = judge.chip.takes.narrowShifts;
  judge.refuse(fails ? reason::kUnsupportedOp : reason::kElementType, op->getLoc(),
               {.message = fails ? "Invalid input layout" : "failed to legalize operation 'tpu.unpack_subelements'",
                .need = "a choice between numbers",
                .have = fmt::format("a choice between two masks, {}", type->str()),
                .help = "write (mask & a) | (~mask & b)"});
}

/// Masks are joined register by register: each but the last fills its tiles.
void onJoin(mlir::Operation* op, const Judge& judge) {
  auto join = mlir::dyn_cast<ConcatenateOp>(op);
  if (!join || join.getSources().empty()) return;
  const auto first = maskType(join.getSources()[0]);
  if (!first) return;
  const size_t rank = first->shape.size();
  const auto axis = static_cast<size_t>(join.getDimension());
  if (axis + 2 < rank) return;
  const int64_t unit = rank == 1          ? tileElements(DType::i32) * judge.chip.vector.sublanes
                       : axis + 1 == rank ? kLanes
                                          : judge.chip.vector.sublanes;
  for (mlir::Value part : join.getSources().drop_back()) {
    const auto type = maskType(part);
    if (!type || type->shape[axis] % unit == 0) continue;
    return judge.refuse(reason::kUnsupportedOp, op->getLoc(),
                        {.message = "Invalid vector register cast",
                         .need = fmt::format("a multiple of {} along axis {} in each mask but the last", unit, axis),
                         .have = type->str(),
                         .help = "join as i32, and compare with 0"});
  }
}

}  // namespace

std::span<const Rule> maskRules() {
  static constexpr Rule kRules[]{{.onOp = onTranspose}, {.onOp = onSelect}, {.onOp = onJoin}};
  return kRules;
}

}  // namespace smalti::tpu
