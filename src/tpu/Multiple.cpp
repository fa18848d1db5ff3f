#include "tpu/Multiple.h"

#include <numeric>

#include <fmt/format.h>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include "ir/KernelPackage.h"
#include "ir/TpuOps.h"

namespace smalti::tpu {
namespace {

constexpr int kMaxDepth = 64;
constexpr int64_t kLarge = int64_t{1} << 40;  ///< products are cut here: no tile is as large

int64_t productOf(int64_t a, int64_t b) {
  int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) || out > kLarge ? (a > b ? a : b) : out;
}

/// a OP b, if the compiler's constant folding supports it.
std::optional<int64_t> foldedPair(mlir::Operation* op, int64_t a, int64_t b) {
  namespace arith = mlir::arith;
  int64_t out = 0;
  if (mlir::isa<arith::AddIOp>(op)) return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
  if (mlir::isa<arith::SubIOp>(op)) return __builtin_sub_overflow(a, b, &out) ? std::nullopt : std::optional(out);
  if (mlir::isa<arith::MulIOp>(op)) return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
  if (mlir::isa<arith::MinSIOp>(op)) return std::min(a, b);
  if (mlir::isa<arith::MaxSIOp>(op)) return std::max(a, b);
  if (mlir::isa<arith::XOrIOp>(op)) return a ^ b;
  if (mlir::isa<arith::AndIOp>(op)) return a & b;
  if (mlir::isa<arith::OrIOp>(op)) return a | b;
  if (b > 0 && a >= 0 && mlir::isa<arith::DivSIOp, arith::DivUIOp>(op)) return a / b;
  if (b > 0 && a >= 0 && mlir::isa<arith::RemSIOp, arith::RemUIOp>(op)) return a % b;
  if (auto compare = mlir::dyn_cast<arith::CmpIOp>(op)) {
    using enum arith::CmpIPredicate;
    switch (compare.getPredicate()) {
      case eq:
        return a == b;
      case ne:
        return a != b;
      case slt:
        return a < b;
      case sle:
        return a <= b;
      case sgt:
        return a > b;
      case sge:
        return a >= b;
      default:
        return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<int64_t> folded(mlir::Value v, int depth, std::span<const int64_t> grid) {
  llvm::APInt value;
  if (mlir::matchPattern(v, mlir::m_ConstantInt(&value)))
    return value.getSignificantBits() > 64 ? std::nullopt : std::optional(value.getSExtValue());
  if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(v)) {
    const bool isIndex = argument.getOwner()->isEntryBlock() && argument.getArgNumber() < grid.size() &&
                         mlir::isa<mlir::func::FuncOp>(argument.getOwner()->getParentOp());
    return isIndex && grid[argument.getArgNumber()] == 1 ? std::optional<int64_t>(0) : std::nullopt;
  }
  mlir::Operation* op = v.getDefiningOp();
  if (!op || depth == 0 || !v.getType().isIntOrIndex()) return std::nullopt;
  if (mlir::isa<mlir::arith::IndexCastOp, mlir::arith::ExtUIOp>(op)) return folded(op->getOperand(0), depth - 1, grid);
  if (auto select = mlir::dyn_cast<mlir::arith::SelectOp>(op)) {
    const auto condition = folded(select.getCondition(), depth - 1, grid);
    if (!condition) return std::nullopt;
    return folded(*condition ? select.getTrueValue() : select.getFalseValue(), depth - 1, grid);
  }
  if (op->getNumOperands() != 2 || !op->getOperand(0).getType().isIntOrIndex()) return std::nullopt;
  const auto a = folded(op->getOperand(0), depth - 1, grid);
  if (!a) return std::nullopt;
  const auto b = folded(op->getOperand(1), depth - 1, grid);
  return b ? foldedPair(op, *a, *b) : std::nullopt;
}

/// The values that one of which the result of an scf.if is.
std::pair<mlir::Value, mlir::Value> branchesOf(mlir::Value v) {
  auto branch = v.getDefiningOp<mlir::scf::IfOp>();
  if (!branch || branch.getElseRegion().empty()) return {};
  const unsigned n = mlir::cast<mlir::OpResult>(v).getResultNumber();
  return {branch.thenYield().getOperand(n), branch.elseYield().getOperand(n)};
}

int64_t known(mlir::Value v, int depth) {
  namespace arith = mlir::arith;
  if (const auto c = constantOf(v)) return *c == INT64_MIN ? kLarge : std::abs(*c);
  if (depth == 0) return 1;
  const auto of = [&](mlir::Value x) { return known(x, depth - 1); };
  if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(v)) {
    auto loop = mlir::dyn_cast<mlir::scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument.getArgNumber() != 0) return 1;
    const auto start = constantOf(loop.getLowerBound()), step = constantOf(loop.getStep());
    return start && step ? std::gcd(std::abs(*start), std::abs(*step)) : 1;
  }
  mlir::Operation* op = v.getDefiningOp();
  if (auto m = mlir::dyn_cast<AssumeMultipleOp>(op)) return m.getMultiple();
  if (auto o = mlir::dyn_cast<arith::IndexCastOp>(op)) return of(o.getIn());
  if (auto o = mlir::dyn_cast<arith::MulIOp>(op)) return productOf(of(o.getLhs()), of(o.getRhs()));
  if (mlir::isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp>(op))
    return std::gcd(of(op->getOperand(0)), of(op->getOperand(1)));
  if (auto o = mlir::dyn_cast<arith::SelectOp>(op)) return std::gcd(of(o.getTrueValue()), of(o.getFalseValue()));
  if (mlir::isa<arith::RemSIOp, arith::RemUIOp>(op))
    return constantOf(op->getOperand(1)) ? std::gcd(of(op->getOperand(0)), of(op->getOperand(1))) : 1;
  if (mlir::isa<arith::DivSIOp, arith::DivUIOp>(op)) {
    const auto divisor = constantOf(op->getOperand(1));
    const int64_t number = of(op->getOperand(0));
    return divisor && *divisor > 0 && number % *divisor == 0 ? number / *divisor : 1;
  }
  if (const auto [one, other] = branchesOf(v); one) return std::gcd(of(one), of(other));
  return 1;
}

std::string_view signOf(mlir::Operation* op) {
  namespace arith = mlir::arith;
  if (mlir::isa<arith::MulIOp>(op)) return "*";
  if (mlir::isa<arith::AddIOp>(op)) return "+";
  if (mlir::isa<arith::SubIOp>(op)) return "-";
  if (mlir::isa<arith::DivSIOp, arith::DivUIOp>(op)) return "/";
  if (mlir::isa<arith::RemSIOp, arith::RemUIOp>(op)) return "%";
  if (mlir::isa<arith::ShLIOp>(op)) return "<<";
  if (mlir::isa<arith::AndIOp>(op)) return "&";
  return {};
}

/// Names of the kernel's arguments, or what op a value is of.
std::string leafName(mlir::Value v) {
  if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(v)) {
    mlir::Operation* parent = argument.getOwner()->getParentOp();
    if (mlir::isa<mlir::func::FuncOp>(parent)) return fmt::format("program_id({})", argument.getArgNumber());
    if (mlir::isa<mlir::scf::ForOp>(parent)) return argument.getArgNumber() == 0 ? "i" : "carried";
    return "carried";
  }
  mlir::Operation* op = v.getDefiningOp();
  if (mlir::isa<mlir::memref::LoadOp>(op)) return "loaded";
  return op->getName().stripDialect().str();
}

std::string leafText(mlir::Value v) {
  if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(v)) {
    mlir::Operation* parent = argument.getOwner()->getParentOp();
    if (mlir::isa<mlir::func::FuncOp>(parent))
      return fmt::format("'{}', any number of the grid's axis {}", leafName(v), argument.getArgNumber());
    if (mlir::isa<mlir::scf::ForOp>(parent) && argument.getArgNumber() == 0)
      return "'i', the counter of a loop whose start or step is no such constant";
    return "a value that a loop carries from one iteration to the next";
  }
  mlir::Operation* op = v.getDefiningOp();
  const SourcePlace place = smalti::placeOf(op->getLoc());
  const std::string at = place.known() ? fmt::format(" ({})", place.str()) : "";
  if (mlir::isa<mlir::memref::LoadOp>(op)) return fmt::format("'loaded', a number read from memory{}", at);
  if (mlir::isa<AssumeMultipleOp>(op))
    return fmt::format("a value said to be a multiple of {} only{}", mlir::cast<AssumeMultipleOp>(op).getMultiple(),
                       at);
  return fmt::format("the result of {}, which no proof goes through{}", op->getName().getStringRef().str(), at);
}

std::string derive(mlir::Value v, int depth, bool inner) {
  if (const auto c = constantOf(v)) return std::to_string(*c);
  mlir::Operation* op = v.getDefiningOp();
  if (!op || depth == 0) return op ? "…" : leafName(v);
  const auto of = [&](mlir::Value x, bool nested) { return derive(x, depth - 1, nested); };
  if (auto m = mlir::dyn_cast<AssumeMultipleOp>(op))
    return fmt::format("multiple_of({}, {})", of(m.getValue(), false), m.getMultiple());
  if (mlir::isa<mlir::arith::IndexCastOp>(op)) return of(op->getOperand(0), inner);
  if (const std::string_view sign = signOf(op); !sign.empty()) {
    const std::string text = fmt::format("{} {} {}", of(op->getOperand(0), true), sign, of(op->getOperand(1), true));
    return inner ? fmt::format("({})", text) : text;
  }
  if (mlir::isa<mlir::arith::MinSIOp, mlir::arith::MaxSIOp>(op))
    return fmt::format("{}({}, {})", mlir::isa<mlir::arith::MinSIOp>(op) ? "min" : "max", of(op->getOperand(0), false),
                       of(op->getOperand(1), false));
  if (auto o = mlir::dyn_cast<mlir::arith::SelectOp>(op))
    return fmt::format("where(…, {}, {})", of(o.getTrueValue(), false), of(o.getFalseValue(), false));
  return leafName(v);
}

mlir::Value culprit(mlir::Value v, int64_t wanted, int depth) {
  const int64_t have = known(v, kMaxDepth);
  if (have % wanted == 0) return {};
  mlir::Operation* op = v.getDefiningOp();
  if (!op || depth == 0) return v;
  if (mlir::isa<mlir::arith::IndexCastOp>(op)) return culprit(op->getOperand(0), wanted, depth - 1);
  if (mlir::isa<mlir::arith::AddIOp, mlir::arith::SubIOp, mlir::arith::MinSIOp>(op)) {
    if (mlir::Value c = culprit(op->getOperand(0), wanted, depth - 1)) return c;
    return culprit(op->getOperand(1), wanted, depth - 1);
  }
  if (mlir::isa<mlir::arith::MulIOp>(op)) {
    const bool constantRight = constantOf(op->getOperand(1)).has_value();
    const int64_t factor = std::max<int64_t>(1, known(op->getOperand(constantRight ? 1 : 0), kMaxDepth));
    return culprit(op->getOperand(constantRight ? 0 : 1), wanted / std::gcd(wanted, factor), depth - 1);
  }
  return v;
}

/// offset + factor × a grid index or a loop counter; no counter: a constant.
struct Linear {
  mlir::BlockArgument counter;
  int64_t factor = 0, offset = 0;
};

std::optional<Linear> linearOf(mlir::Value v, int depth) {
  namespace arith = mlir::arith;
  constexpr int64_t kMax = int64_t{1} << 31;  // products of two of them do not overflow
  if (const auto c = constantOf(v)) return std::abs(*c) < kMax ? std::optional(Linear{{}, 0, *c}) : std::nullopt;
  if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(v)) {
    mlir::Operation* parent = argument.getOwner()->getParentOp();
    const bool isCounter = mlir::isa<mlir::func::FuncOp>(parent)
                               ? v.getType().isIntOrIndex()
                               : mlir::isa<mlir::scf::ForOp>(parent) && argument.getArgNumber() == 0;
    return isCounter ? std::optional(Linear{argument, 1, 0}) : std::nullopt;
  }
  mlir::Operation* op = v.getDefiningOp();
  if (depth == 0) return std::nullopt;
  if (mlir::isa<arith::IndexCastOp>(op)) return linearOf(op->getOperand(0), depth - 1);
  if (!mlir::isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op)) return std::nullopt;
  const auto a = linearOf(op->getOperand(0), depth - 1), b = linearOf(op->getOperand(1), depth - 1);
  if (!a || !b || (a->counter && b->counter)) return std::nullopt;
  Linear out{a->counter ? a->counter : b->counter, 0, 0};
  if (mlir::isa<arith::MulIOp>(op)) {
    out.factor = a->factor * b->offset + b->factor * a->offset;
    out.offset = a->offset * b->offset;
  } else {
    const int64_t sign = mlir::isa<arith::SubIOp>(op) ? -1 : 1;
    out.factor = a->factor + sign * b->factor;
    out.offset = a->offset + sign * b->offset;
  }
  return std::max(std::abs(out.factor), std::abs(out.offset)) < kMax ? std::optional(out) : std::nullopt;
}

}  // namespace

std::string counterexampleOf(mlir::Value v, int64_t wanted) {
  const auto linear = linearOf(v, kMaxDepth);
  if (!linear || !linear->counter) return {};
  int64_t start = 0, step = 1, end = 2;
  if (auto loop = mlir::dyn_cast<mlir::scf::ForOp>(linear->counter.getOwner()->getParentOp())) {
    const auto from = constantOf(loop.getLowerBound()), by = constantOf(loop.getStep());
    if (!from || !by) return {};
    start = *from, step = *by, end = constantOf(loop.getUpperBound()).value_or(start + 2 * step);
  }
  for (int64_t i = start; i < end && i <= start + step; i += step)
    if (const int64_t number = linear->offset + linear->factor * i; number % wanted != 0)
      return fmt::format("{} where {} = {}", number, leafName(linear->counter), i);
  return {};
}

std::optional<int64_t> constantOf(mlir::Value v) { return folded(v, kMaxDepth, {}); }

std::optional<int64_t> constantOnGrid(mlir::Value v, std::span<const int64_t> grid) {
  return folded(v, kMaxDepth, grid);
}

int64_t knownMultiple(mlir::Value v) { return known(v, kMaxDepth); }

std::string derivationOf(mlir::Value v) {
  constexpr int kShown = 8;
  return derive(v, kShown, false);
}

std::string culpritOf(mlir::Value v, int64_t wanted) {
  const mlir::Value c = culprit(v, wanted, kMaxDepth);
  if (!c) return {};
  if (const auto number = constantOf(c)) return fmt::format("the constant {}", *number);
  return leafText(c);
}

}  // namespace smalti::tpu
