// Element-wise ops: most are one op of arith or math, by dtype.
#include <array>

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "lang/lower/Lowering.h"
#include "lang/print/Print.h"
#include "plain/PlainEvaluators.h"

namespace smalti::lang {
namespace {

/// The op that src/plain evaluates it by: "add" of f32 is "arith.addf".
void direct(Lowering& l, const Op& op) {
  const ArrayType& type = l.typeOf(op.results[0]);
  const std::string_view name = plain::kernelOpName(op.name, type.dtype);
  if (name.empty()) {
    refuseOp(op,
             "'" + std::string(jaxName(op.name)) + "' does not exist on " + std::string(smalti::name(type.dtype)) +
                 " in a kernel",
             "another dtype", std::string(smalti::name(type.dtype)), "convert the operands with astype");
  }
  std::vector<mlir::Value> operands;
  for (const ValueId v : op.operands) operands.push_back(l.value(v));
  l.set(op.results[0], l.create1(name, operands, l.mlirType(type)));
}

void negate(Lowering& l, const Op& op) {
  const ArrayType& type = l.typeOf(op.results[0]);
  const mlir::Value x = l.value(op.operands[0]);
  if (is_float(type.dtype)) {
    l.set(op.results[0], l.create1("arith.negf", x, x.getType()));
    return;
  }
  l.set(op.results[0], l.create1("arith.subi", {l.constant(x.getType(), 0), x}, x.getType()));
}

void logicalNot(Lowering& l, const Op& op) {
  const mlir::Value x = l.value(op.operands[0]);
  const double ones = l.typeOf(op.operands[0]).dtype == DType::pred ? 1 : -1;
  l.set(op.results[0], l.create1("arith.xori", {x, l.constant(x.getType(), ones)}, x.getType()));
}

void logistic(Lowering& l, const Op& op) {
  const mlir::Value x = l.value(op.operands[0]);
  const mlir::Type t = x.getType();
  const mlir::Value negated = l.create1("arith.negf", x, t), e = l.create1("math.exp", negated, t);
  const mlir::Value one = l.constant(t, 1);
  l.set(op.results[0], l.create1("arith.divf", {one, l.create1("arith.addf", {one, e}, t)}, t));
}

void exp2(Lowering& l, const Op& op) {
  const mlir::Value x = l.value(op.operands[0]);
  l.set(op.results[0], l.create1("math.exp2", x, x.getType()));
}

/// 1, -1, or x itself: zeros keep their sign, NaN stays.
void sign(Lowering& l, const Op& op) {
  using mlir::arith::CmpFPredicate, mlir::arith::CmpIPredicate;
  const DType t = l.typeOf(op.operands[0]).dtype;
  const mlir::Value x = l.value(op.operands[0]), zero = l.constant(x.getType(), 0);
  const auto choose = [&](mlir::Value condition, double number, mlir::Value otherwise) {
    return l.create1("arith.select", {condition, l.constant(x.getType(), number), otherwise}, x.getType());
  };
  const auto isSided = [&](CmpFPredicate floats, CmpIPredicate integers) -> mlir::Value {
    if (is_float(t)) return mlir::arith::CmpFOp::create(l.b, l.loc, floats, x, zero);
    return mlir::arith::CmpIOp::create(l.b, l.loc, integers, x, zero);
  };
  if (is_unsigned_integer(t)) {
    l.set(op.results[0], choose(isSided(CmpFPredicate::UNE, CmpIPredicate::ne), 1, zero));
    return;
  }
  const mlir::Value below = choose(isSided(CmpFPredicate::OLT, CmpIPredicate::slt), -1, x);
  l.set(op.results[0], choose(isSided(CmpFPredicate::OGT, CmpIPredicate::sgt), 1, below));
}

/// tpu.weird says NaN or infinity, of f32.
void isFinite(Lowering& l, const Op& op) {
  const ArrayType &from = l.typeOf(op.operands[0]), &to = l.typeOf(op.results[0]);
  const mlir::Value x = convertTo(l, l.value(op.operands[0]), from.dtype, DType::f32);
  const mlir::Value weird = l.create1("tpu.weird", x, l.mlirType(to));
  l.set(op.results[0], l.create1("arith.xori", {weird, l.constant(weird.getType(), 1)}, weird.getType()));
}

/// The order of false and true out of logic: a TPU compares no bools.
mlir::Value comparePreds(Lowering& l, const std::string& direction, mlir::Value a, mlir::Value b) {
  const mlir::Type type = a.getType();
  const auto negated = [&](mlir::Value x) { return l.create1("arith.xori", {x, l.constant(type, 1)}, type); };
  const auto both = [&](mlir::Value x, mlir::Value y) { return l.create1("arith.andi", {x, y}, type); };
  if (direction == "NE") return l.create1("arith.xori", {a, b}, type);
  if (direction == "EQ") return negated(l.create1("arith.xori", {a, b}, type));
  if (direction == "LT") return both(negated(a), b);
  if (direction == "GT") return both(a, negated(b));
  return direction == "LE" ? negated(both(a, negated(b))) : negated(both(negated(a), b));
}

void compare(Lowering& l, const Op& op) {
  using mlir::arith::CmpFPredicate, mlir::arith::CmpIPredicate;
  const DType t = l.typeOf(op.operands[0]).dtype;
  const auto& direction = std::get<std::string>(*op.find("comparison_direction"));
  const mlir::Value a = l.value(op.operands[0]), c = l.value(op.operands[1]);
  if (is_float(t)) {
    const CmpFPredicate p = direction == "EQ"   ? CmpFPredicate::OEQ
                            : direction == "NE" ? CmpFPredicate::ONE  // to a TPU: true for NaN (S-E6)
                            : direction == "LT" ? CmpFPredicate::OLT
                            : direction == "LE" ? CmpFPredicate::OLE
                            : direction == "GT" ? CmpFPredicate::OGT
                                                : CmpFPredicate::OGE;
    l.set(op.results[0], mlir::arith::CmpFOp::create(l.b, l.loc, p, a, c));
    return;
  }
  if (t == DType::pred) return l.set(op.results[0], comparePreds(l, direction, a, c));
  const bool isUnsigned = is_unsigned_integer(t);
  const CmpIPredicate p = direction == "EQ"   ? CmpIPredicate::eq
                          : direction == "NE" ? CmpIPredicate::ne
                          : direction == "LT" ? (isUnsigned ? CmpIPredicate::ult : CmpIPredicate::slt)
                          : direction == "LE" ? (isUnsigned ? CmpIPredicate::ule : CmpIPredicate::sle)
                          : direction == "GT" ? (isUnsigned ? CmpIPredicate::ugt : CmpIPredicate::sgt)
                                              : (isUnsigned ? CmpIPredicate::uge : CmpIPredicate::sge);
  l.set(op.results[0], mlir::arith::CmpIOp::create(l.b, l.loc, p, a, c));
}

void select(Lowering& l, const Op& op) {
  const mlir::Value x = l.value(op.operands[1]);
  l.set(op.results[0], l.create1("arith.select", {l.value(op.operands[0]), x, l.value(op.operands[2])}, x.getType()));
}

constexpr std::array kElementwiseRules{
    LowerRow{"abs", direct},
    LowerRow{"add", direct},
    LowerRow{"and", direct},
    LowerRow{"atan2", direct},
    LowerRow{"ceil", direct},
    LowerRow{"compare", compare},
    LowerRow{"cosine", direct},
    LowerRow{"count_leading_zeros", direct},
    LowerRow{"divide", direct},
    LowerRow{"erf", direct},
    LowerRow{"exp2", exp2},
    LowerRow{"exponential", direct},
    LowerRow{"floor", direct},
    LowerRow{"is_finite", isFinite},
    LowerRow{"log", direct},
    LowerRow{"log_plus_one", direct},
    LowerRow{"logistic", logistic},
    LowerRow{"maximum", direct},
    LowerRow{"minimum", direct},
    LowerRow{"multiply", direct},
    LowerRow{"negate", negate},
    LowerRow{"not", logicalNot},
    LowerRow{"or", direct},
    LowerRow{"popcnt", direct},
    LowerRow{"power", direct},
    LowerRow{"remainder", direct},
    LowerRow{"round_nearest_afz", direct},
    LowerRow{"round_nearest_even", direct},
    LowerRow{"rsqrt", direct},
    LowerRow{"select", select},
    LowerRow{"shift_left", direct},
    LowerRow{"shift_right_arithmetic", direct},
    LowerRow{"shift_right_logical", direct},
    LowerRow{"sign", sign},
    LowerRow{"sine", direct},
    LowerRow{"sqrt", direct},
    LowerRow{"subtract", direct},
    LowerRow{"tan", direct},
    LowerRow{"tanh", direct},
    LowerRow{"xor", direct},
};

}  // namespace

std::span<const LowerRow> elementwiseRules() { return kElementwiseRules; }

}  // namespace smalti::lang
