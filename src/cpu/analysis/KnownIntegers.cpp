#include "cpu/analysis/KnownIntegers.h"

#include <algorithm>

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/TypeUtilities.h"

#include "ir/TpuOps.h"

namespace smalti::cpu {
namespace {

using namespace mlir::arith;
using Known = std::optional<int64_t>;

bool isInteger(mlir::Type type) { return mlir::getElementTypeOrSelf(type).isIntOrIndex(); }
int widthOf(mlir::Type type) {
  const mlir::Type element = mlir::getElementTypeOrSelf(type);
  return element.isIndex() ? 64 : static_cast<int>(element.getIntOrFloatBitWidth());
}

/// Wraps the value to the type's width and sign-extends it.
int64_t wrapped(uint64_t value, mlir::Type type) {
  const int unused = 64 - widthOf(type);
  return unused == 64 ? 0 : static_cast<int64_t>(value << unused) >> unused;
}
uint64_t zeroExtended(int64_t value, mlir::Type type) {
  const int width = widthOf(type);
  return width >= 64 ? static_cast<uint64_t>(value) : static_cast<uint64_t>(value) & ((uint64_t{1} << width) - 1);
}

bool compare(CmpIPredicate predicate, int64_t a, int64_t b, mlir::Type type) {
  const uint64_t ua = zeroExtended(a, type), ub = zeroExtended(b, type);
  switch (predicate) {
    case CmpIPredicate::eq:
      return a == b;
    case CmpIPredicate::ne:
      return a != b;
    case CmpIPredicate::slt:
      return a < b;
    case CmpIPredicate::sle:
      return a <= b;
    case CmpIPredicate::sgt:
      return a > b;
    case CmpIPredicate::sge:
      return a >= b;
    case CmpIPredicate::ult:
      return ua < ub;
    case CmpIPredicate::ule:
      return ua <= ub;
    case CmpIPredicate::ugt:
      return ua > ub;
    case CmpIPredicate::uge:
      return ua >= ub;
  }
  return false;
}

}  // namespace

Known KnownIntegers::find(mlir::Value value) const {
  if (auto constant = value.getDefiningOp<ConstantOp>(); constant && isInteger(value.getType())) {
    mlir::Attribute number = constant.getValue();
    if (auto all = mlir::dyn_cast<mlir::DenseElementsAttr>(number); all && all.isSplat())
      number = all.getSplatValue<mlir::Attribute>();
    if (auto integer = mlir::dyn_cast<mlir::IntegerAttr>(number); integer && widthOf(value.getType()) <= 64)
      return integer.getValue().getSExtValue();
  }
  const auto found = known_.find(value);
  return found == known_.end() ? Known() : Known(found->second);
}

void KnownIntegers::set(mlir::Value value, Known number) {
  if (number)
    known_[value] = *number;
  else
    known_.erase(value);
}

void KnownIntegers::follow(mlir::Operation& op) {
  if (op.getNumResults() == 1 && op.getNumRegions() == 0 && isInteger(op.getResult(0).getType()) &&
      widthOf(op.getResult(0).getType()) <= 64)
    set(op.getResult(0), evaluate(op));
}

Known KnownIntegers::evaluate(mlir::Operation& op) const {
  if (op.getNumOperands() == 0 || op.getNumOperands() > 3) return std::nullopt;
  Known in[3];
  for (unsigned i = 0; i < op.getNumOperands(); ++i) {
    const mlir::Type type = op.getOperand(i).getType();
    if (!isInteger(type) || widthOf(type) > 64) return std::nullopt;
    in[i] = find(op.getOperand(i));
  }
  const Known &a = in[0], &b = in[1];
  const mlir::Type from = op.getOperand(0).getType(), type = op.getResult(0).getType();
  // Cases that one operand determines.
  if (mlir::isa<SelectOp>(op)) return a ? (*a ? in[1] : in[2]) : in[1] == in[2] ? in[1] : std::nullopt;
  if (mlir::isa<AndIOp, MulIOp>(op) && ((a && *a == 0) || (b && *b == 0))) return 0;
  if (mlir::isa<OrIOp>(op) && ((a && *a == -1) || (b && *b == -1))) return -1;
  for (unsigned i = 0; i < op.getNumOperands(); ++i)
    if (!in[i]) return std::nullopt;
  const auto wrap = [&](uint64_t value) { return Known(wrapped(value, type)); };
  const uint64_t ua = static_cast<uint64_t>(*a), ub = static_cast<uint64_t>(b.value_or(0));
  return llvm::TypeSwitch<mlir::Operation*, Known>(&op)
      .Case<AddIOp>([&](auto) { return wrap(ua + ub); })
      .Case<SubIOp>([&](auto) { return wrap(ua - ub); })
      .Case<MulIOp>([&](auto) { return wrap(ua * ub); })
      .Case<AndIOp>([&](auto) { return wrap(ua & ub); })
      .Case<OrIOp>([&](auto) { return wrap(ua | ub); })
      .Case<XOrIOp>([&](auto) { return wrap(ua ^ ub); })
      .Case<MinSIOp>([&](auto) { return std::min(*a, *b); })
      .Case<MaxSIOp>([&](auto) { return std::max(*a, *b); })
      // INT_MIN / -1 overflows: unknown.
      .Case<DivSIOp>([&](auto) { return *b > 0 ? Known(*a / *b) : Known(); })
      .Case<RemSIOp>([&](auto) { return *b > 0 ? Known(*a % *b) : Known(); })
      .Case<DivUIOp>([&](auto) { return ub ? wrap(zeroExtended(*a, type) / zeroExtended(*b, type)) : Known(); })
      .Case<RemUIOp>([&](auto) { return ub ? wrap(zeroExtended(*a, type) % zeroExtended(*b, type)) : Known(); })
      .Case<CmpIOp>([&](CmpIOp c) { return Known(compare(c.getPredicate(), *a, *b, from) ? -1 : 0); })
      .Case<ExtUIOp, IndexCastUIOp>([&](auto) { return wrap(zeroExtended(*a, from)); })
      .Case<ExtSIOp, TruncIOp, IndexCastOp>([&](auto) { return wrap(ua); })
      .Case<tpu::AssumeMultipleOp>([&](auto) { return a; })
      .Default([](auto) { return Known(); });
}

}  // namespace smalti::cpu
