// Element-wise ops: their records, and promotion and broadcasting. Most are one op of arith or math, by dtype; values
// stand in src/eval.
#include "smalti/ops/elementwise.h"

#include <array>

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "eval/Elementwise.h"
#include "ir/facts/Tolerance.h"
#include "ir/program/TypeRules.h"
#include "lang/cost/Cost.h"
#include "lang/lower/DialectLowering.h"
#include "lang/ops/OpRecord.h"
#include "lang/ops/Support.h"
#include "lang/print/Print.h"
#include "lang/transform/rules/Elementwise.h"
#include "plain/PlainEvaluators.h"
#include "smalti/ops/create.h"

namespace smalti::lang {
namespace {

/// The op that src/plain evaluates it by: "add" of f32 is "arith.addf".
void lowerIdentity(DialectLowering& l, const Op& op) { l.set(op.results[0], l.value(op.operands[0])); }

void lowerDirect(DialectLowering& l, const Op& op) {
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

void lowerNegate(DialectLowering& l, const Op& op) {
  const ArrayType& type = l.typeOf(op.results[0]);
  const mlir::Value x = l.value(op.operands[0]);
  if (is_float(type.dtype)) {
    l.set(op.results[0], l.create1("arith.negf", x, x.getType()));
    return;
  }
  l.set(op.results[0], l.create1("arith.subi", {l.constant(x.getType(), 0), x}, x.getType()));
}

void lowerNot(DialectLowering& l, const Op& op) {
  const mlir::Value x = l.value(op.operands[0]);
  const double ones = l.typeOf(op.operands[0]).dtype == DType::pred ? 1 : -1;
  l.set(op.results[0], l.create1("arith.xori", {x, l.constant(x.getType(), ones)}, x.getType()));
}

void lowerLogistic(DialectLowering& l, const Op& op) {
  const mlir::Value x = l.value(op.operands[0]);
  const mlir::Type t = x.getType();
  const mlir::Value negated = l.create1("arith.negf", x, t), e = l.create1("math.exp", negated, t);
  const mlir::Value one = l.constant(t, 1);
  l.set(op.results[0], l.create1("arith.divf", {one, l.create1("arith.addf", {one, e}, t)}, t));
}

void lowerExponential(DialectLowering& l, const Op& op, std::string_view name) {
  const mlir::Value x = l.value(op.operands[0]);
  std::vector<mlir::NamedAttribute> attributes;
  if (const Attribute* atol = op.find("atol"))
    attributes.push_back(
        toleranceAttribute(l.b.getContext(), {std::get<double>(*atol), std::get<double>(*op.find("rtol"))}));
  l.set(op.results[0], l.create1(name, x, x.getType(), attributes));
}
void lowerExp(DialectLowering& l, const Op& op) { lowerExponential(l, op, "math.exp"); }
void lowerExp2(DialectLowering& l, const Op& op) { lowerExponential(l, op, "math.exp2"); }

/// 1, -1, or x itself: zeros keep their sign, NaN stays.
void lowerSign(DialectLowering& l, const Op& op) {
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

/// tpu.weird: whether an f32 is NaN or infinite.
void lowerIsFinite(DialectLowering& l, const Op& op) {
  const ArrayType &from = l.typeOf(op.operands[0]), &to = l.typeOf(op.results[0]);
  const mlir::Value x = convertTo(l, l.value(op.operands[0]), from.dtype, DType::f32);
  const mlir::Value weird = l.create1("tpu.weird", x, l.mlirType(to));
  l.set(op.results[0], l.create1("arith.xori", {weird, l.constant(weird.getType(), 1)}, weird.getType()));
}

/// Ordered comparisons of bools by logic ops: TPUs have none.
mlir::Value comparePreds(DialectLowering& l, const std::string& direction, mlir::Value a, mlir::Value b) {
  const mlir::Type type = a.getType();
  const auto negated = [&](mlir::Value x) { return l.create1("arith.xori", {x, l.constant(type, 1)}, type); };
  const auto both = [&](mlir::Value x, mlir::Value y) { return l.create1("arith.andi", {x, y}, type); };
  if (direction == "NE") return l.create1("arith.xori", {a, b}, type);
  if (direction == "EQ") return negated(l.create1("arith.xori", {a, b}, type));
  if (direction == "LT") return both(negated(a), b);
  if (direction == "GT") return both(a, negated(b));
  return direction == "LE" ? negated(both(a, negated(b))) : negated(both(negated(a), b));
}

void lowerCompare(DialectLowering& l, const Op& op) {
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

void lowerSelect(DialectLowering& l, const Op& op) {
  const mlir::Value x = l.value(op.operands[1]);
  l.set(op.results[0], l.create1("arith.select", {l.value(op.operands[0]), x, l.value(op.operands[2])}, x.getType()));
}

plain::PlainResults evaluateExp2(plain::PlainCall& call) {
  const auto kernel = eval::findUnary("math.exp2", call.results[0].dtype);
  if (!kernel) return fail(plain::noEvaluation(call, call.results[0].dtype));
  auto result = plain::resultArray(call, 0, true);
  if (!result) return fail(std::move(result.error()));
  kernel(call.operands[0].data(), result->data(), result->elements());
  return plain::one(std::move(*result));
}

Attributes attributesOf(Tolerance t) { return {{"atol", t.atol}, {"rtol", t.rtol}}; }

/// StableHLO has no exp2. JAX writes exp(log(2) * x), which is not exact at integers.
std::vector<Array> expandExp2(const OpCall& call) {
  return {pow(Operand(full({}, 2, call.operands[0].dtype())), call.operands[0])};
}

std::vector<Array> runIdentity(const OpCall& call) { return {call.operands[0]}; }

constexpr OpTable kElementwiseOps{
    OpRecord{.name = "abs", .lower = lowerDirect, .jvp = jvpUnary<slopes::abs>, .batch = batchElementwise},
    OpRecord{.name = "add",
             .lower = lowerDirect,
             .cost = elementFlops,
             .jvp = jvpBinary<slopes::itself, slopes::itself>,
             .transpose = transposeAdd,
             .batch = batchElementwise},
    OpRecord{.name = "and", .lower = lowerDirect, .cost = elementFlops, .jvp = jvpZero, .batch = batchElementwise},
    OpRecord{.name = "atan2",
             .lower = lowerDirect,
             .cost = transcendental,
             .jvp = jvpBinary<slopes::atan2First, slopes::atan2Second>,
             .batch = batchElementwise},
    OpRecord{.name = "ceil", .lower = lowerDirect, .cost = elementFlops, .jvp = jvpZero, .batch = batchElementwise},
    OpRecord{.name = "compare", .lower = lowerCompare, .jvp = jvpZero, .batch = batchElementwise},
    OpRecord{.name = "cbrt", .jvp = jvpUnary<slopes::cbrt>, .batch = batchElementwise},
    OpRecord{.name = "sinh", .jvp = jvpUnary<slopes::sinh>, .batch = batchElementwise},
    OpRecord{.name = "cosh", .jvp = jvpUnary<slopes::cosh>, .batch = batchElementwise},
    OpRecord{.name = "asinh", .jvp = jvpUnary<slopes::asinh>, .batch = batchElementwise},
    OpRecord{.name = "acosh", .jvp = jvpUnary<slopes::acosh>, .batch = batchElementwise},
    OpRecord{.name = "atanh", .jvp = jvpUnary<slopes::atanh>, .batch = batchElementwise},
    OpRecord{.name = "asin", .jvp = jvpUnary<slopes::asin>, .batch = batchElementwise},
    OpRecord{.name = "acos", .jvp = jvpUnary<slopes::acos>, .batch = batchElementwise},
    OpRecord{.name = "atan", .jvp = jvpUnary<slopes::atan>, .batch = batchElementwise},
    OpRecord{.name = "erfc", .jvp = jvpUnary<slopes::erfc>, .batch = batchElementwise},
    OpRecord{.name = "cosine",
             .jaxName = "cos",
             .lower = lowerDirect,
             .cost = transcendental,
             .jvp = jvpUnary<slopes::cos>,
             .batch = batchElementwise},
    OpRecord{.name = "count_leading_zeros",
             .jaxName = "clz",
             .lower = lowerDirect,
             .jvp = jvpZero,
             .batch = batchElementwise},
    OpRecord{.name = "divide",
             .jaxName = "div",
             .lower = lowerDirect,
             .cost = elementFlops,
             .jvp = jvpBinary<slopes::divideFirst, slopes::divideSecond>,
             .transpose = transposeDivide,
             .batch = batchElementwise},
    OpRecord{.name = "erf", .lower = lowerDirect, .jvp = jvpUnary<slopes::erf>, .batch = batchElementwise},
    OpRecord{.name = "exp2",
             .types = rules::sameFloat,
             .evaluate = evaluateExp2,
             .expand = expandExp2,
             .lower = lowerExp2,
             .jvp = jvpUnary<slopes::exp2>,
             .batch = batchElementwise},
    OpRecord{.name = "exponential",
             .jaxName = "exp",
             .lower = lowerExp,
             .cost = transcendental,
             .jvp = jvpUnary<slopes::exp>,
             .batch = batchElementwise},
    OpRecord{
        .name = "exponential_minus_one", .jaxName = "expm1", .jvp = jvpUnary<slopes::expm1>, .batch = batchElementwise},
    OpRecord{.name = "floor", .lower = lowerDirect, .cost = elementFlops, .jvp = jvpZero, .batch = batchElementwise},
    OpRecord{.name = "is_finite", .lower = lowerIsFinite, .jvp = jvpZero, .batch = batchElementwise},
    OpRecord{.name = "log",
             .lower = lowerDirect,
             .cost = transcendental,
             .jvp = jvpUnary<slopes::log>,
             .batch = batchElementwise},
    OpRecord{.name = "log_plus_one",
             .jaxName = "log1p",
             .lower = lowerDirect,
             .jvp = jvpUnary<slopes::log1p>,
             .batch = batchElementwise},
    OpRecord{.name = "logistic",
             .lower = lowerLogistic,
             .cost = transcendental,
             .jvp = jvpUnary<slopes::logistic>,
             .batch = batchElementwise},
    OpRecord{.name = "maximum",
             .jaxName = "max",
             .lower = lowerDirect,
             .cost = elementFlops,
             .jvp = jvpBinary<slopes::extremeFirst, slopes::extremeSecond>,
             .batch = batchElementwise},
    OpRecord{.name = "minimum",
             .jaxName = "min",
             .lower = lowerDirect,
             .cost = elementFlops,
             .jvp = jvpBinary<slopes::extremeFirst, slopes::extremeSecond>,
             .batch = batchElementwise},
    OpRecord{.name = "multiply",
             .jaxName = "mul",
             .lower = lowerDirect,
             .cost = elementFlops,
             .jvp = jvpBinary<slopes::timesOther, slopes::timesFirst>,
             .transpose = transposeMultiply,
             .batch = batchElementwise},
    OpRecord{.name = "negate",
             .jaxName = "neg",
             .lower = lowerNegate,
             .cost = elementFlops,
             .jvp = jvpLinear,
             .transpose = transposeNegate,
             .batch = batchElementwise},
    OpRecord{.name = "not", .lower = lowerNot, .cost = elementFlops, .jvp = jvpZero, .batch = batchElementwise},
    OpRecord{.name = "or", .lower = lowerDirect, .cost = elementFlops, .jvp = jvpZero, .batch = batchElementwise},
    OpRecord{.name = "popcnt",
             .jaxName = "population_count",
             .lower = lowerDirect,
             .jvp = jvpZero,
             .batch = batchElementwise},
    OpRecord{.name = "power",
             .jaxName = "pow",
             .lower = lowerDirect,
             .jvp = jvpBinary<slopes::powerFirst, slopes::powerSecond>,
             .batch = batchElementwise},
    OpRecord{.name = "remainder",
             .jaxName = "rem",
             .lower = lowerDirect,
             .jvp = jvpBinary<slopes::itself, slopes::remainderSecond>,
             .batch = batchElementwise},
    OpRecord{.name = "round_nearest_afz",
             .lower = lowerDirect,
             .cost = elementFlops,
             .jvp = jvpZero,
             .batch = batchElementwise},
    OpRecord{.name = "round_nearest_even",
             .jaxName = "round",
             .lower = lowerDirect,
             .cost = elementFlops,
             .jvp = jvpZero,
             .batch = batchElementwise},
    OpRecord{.name = "rsqrt", .lower = lowerDirect, .jvp = jvpUnary<slopes::rsqrt>, .batch = batchElementwise},
    OpRecord{.name = "select",
             .lower = lowerSelect,
             .jvp = jvpSelect,
             .transpose = transposeSelect,
             .batch = batchElementwise},
    OpRecord{.name = "shift_left", .lower = lowerDirect, .jvp = jvpZero, .batch = batchElementwise},
    OpRecord{.name = "shift_right_arithmetic", .lower = lowerDirect, .jvp = jvpZero, .batch = batchElementwise},
    OpRecord{.name = "shift_right_logical", .lower = lowerDirect, .jvp = jvpZero, .batch = batchElementwise},
    OpRecord{.name = "sign", .lower = lowerSign, .jvp = jvpZero, .batch = batchElementwise},
    OpRecord{.name = "sine",
             .jaxName = "sin",
             .lower = lowerDirect,
             .cost = transcendental,
             .jvp = jvpUnary<slopes::sin>,
             .batch = batchElementwise},
    OpRecord{.name = "sqrt",
             .lower = lowerDirect,
             .cost = transcendental,
             .jvp = jvpUnary<slopes::sqrt>,
             .batch = batchElementwise},
    OpRecord{.name = "stop_gradient",
             .types = likeOperand,
             .run = runIdentity,
             .expand = runIdentity,
             .lower = lowerIdentity,
             .jvp = jvpZero,
             .transpose = transposeZero,
             .batch = batchElementwise},
    OpRecord{.name = "subtract",
             .jaxName = "sub",
             .lower = lowerDirect,
             .cost = elementFlops,
             .jvp = jvpBinary<slopes::itself, slopes::negated>,
             .transpose = transposeSubtract,
             .batch = batchElementwise},
    OpRecord{.name = "tan",
             .lower = lowerDirect,
             .cost = transcendental,
             .jvp = jvpUnary<slopes::tan>,
             .batch = batchElementwise},
    OpRecord{.name = "tanh",
             .lower = lowerDirect,
             .cost = transcendental,
             .jvp = jvpUnary<slopes::tanh>,
             .batch = batchElementwise},
    OpRecord{.name = "xor", .lower = lowerDirect, .cost = elementFlops, .jvp = jvpZero, .batch = batchElementwise},
};
const OpFamily kElementwiseFamily(kElementwiseOps);

}  // namespace
}  // namespace smalti::lang

namespace smalti {

using lang::SourceLocationScope;

namespace {

Array logical(const lang::OpRecord& op, const Operand& x, const Operand& y) {
  SourceLocationScope place(x.at());
  const lang::Promoted p = lang::promoteBits(op.name, std::array{&x, &y});
  if (is_float(p.dtype)) lang::refuseDType(op.name, p.dtype, "integers or pred");
  return lang::binary(op, x, y, p);
}

Array shift(const lang::OpRecord& op, const Operand& x, const Operand& y) {
  SourceLocationScope place(x.at());
  const lang::Promoted p = lang::promote(op.name, {&x, &y});
  if (!is_integer(p.dtype)) lang::refuseDType(op.name, p.dtype, "integers");
  return lang::binary(op, x, y);
}

Array compare(std::string_view direction, const Operand& x, const Operand& y) {
  SourceLocationScope place(x.at());
  const lang::Promoted p = lang::promote("compare", {&x, &y});
  const Shape shape = lang::broadcastShape("compare", {&x, &y});
  const char* type = is_float(p.dtype) ? "FLOAT" : is_signed_integer(p.dtype) ? "SIGNED" : "UNSIGNED";
  return lang::bind1(lang::kElementwiseOps["compare"],
                     {lang::prepare(x, p.dtype, shape), lang::prepare(y, p.dtype, shape)}, {DType::pred, shape},
                     {{"comparison_direction", std::string(direction)}, {"compare_type", std::string(type)}});
}

Array integerOp(const lang::OpRecord& op, const Operand& x) {
  SourceLocationScope place(x.at());
  if (!is_integer(x.dtype())) lang::refuseDType(op.name, x.dtype(), "integers");
  return lang::unary(op, x);
}

Array toPred(const Operand& x) {
  if (x.dtype() == DType::pred) return x.array();
  return not_equal(x, Operand(0, x.at()));
}

}  // namespace

Array add(const Operand& x, const Operand& y) { return lang::binary(lang::kElementwiseOps["add"], x, y); }
Array subtract(const Operand& x, const Operand& y) { return lang::binary(lang::kElementwiseOps["subtract"], x, y); }
Array multiply(const Operand& x, const Operand& y) { return lang::binary(lang::kElementwiseOps["multiply"], x, y); }
Array div(const Operand& x, const Operand& y) { return lang::binary(lang::kElementwiseOps["divide"], x, y); }
Array rem(const Operand& x, const Operand& y) { return lang::binary(lang::kElementwiseOps["remainder"], x, y); }
Array maximum(const Operand& x, const Operand& y) { return lang::binary(lang::kElementwiseOps["maximum"], x, y); }
Array minimum(const Operand& x, const Operand& y) { return lang::binary(lang::kElementwiseOps["minimum"], x, y); }

Array divide(const Operand& x, const Operand& y) {
  SourceLocationScope place(x.at());
  const lang::Promoted p = lang::promote("divide", {&x, &y});
  if (is_float(p.dtype)) return lang::binary(lang::kElementwiseOps["divide"], x, y);
  return lang::binary(lang::kElementwiseOps["divide"], Operand(lang::convertTo(x.array(), DType::f32), x.at()),
                      Operand(lang::convertTo(y.array(), DType::f32), y.at()));
}

Array floor_divide(const Operand& x, const Operand& y) {
  SourceLocationScope place(x.at());
  const lang::Promoted p = lang::promote("floor_divide", {&x, &y});
  if (is_float(p.dtype)) return floor(lang::binary(lang::kElementwiseOps["divide"], x, y));
  const Array q = div(x, y);
  if (is_unsigned_integer(p.dtype)) return q;
  const Array r = rem(x, y);
  return where(logical_and(not_equal(sign(r), sign(Operand(lang::convertTo(y.array(), p.dtype)))), not_equal(r, 0)),
               q - 1, q);
}

Array mod(const Operand& x, const Operand& y) {
  SourceLocationScope place(x.at());
  const Array r = rem(x, y);
  if (is_unsigned_integer(r.dtype())) return r;
  return where(logical_and(not_equal(less(r, 0), less(y, 0)), not_equal(r, 0)), r + y, r);
}

Array pow(const Operand& x, const Operand& y) {
  SourceLocationScope place(x.at());
  const lang::Promoted p = lang::promote("pow", {&x, &y});
  if (is_float(p.dtype)) return lang::binary(lang::kElementwiseOps["power"], x, y);
  return lang::binary(lang::kElementwiseOps["power"], Operand(lang::convertTo(x.array(), DType::f32), x.at()), y);
}

Array integer_pow(const Operand& x, int exponent) {
  SourceLocationScope place(x.at());
  Array base = x.array(), result;
  bool any = false;
  for (int64_t e = std::abs(int64_t{exponent}); e > 0; e >>= 1) {
    if (e & 1) result = any ? multiply(result, base) : base, any = true;
    if (e > 1) base = multiply(base, base);
  }
  if (!any) return full_like(x.array(), 1);
  return exponent < 0 ? divide(1, result) : result;
}

Array atan2(const Operand& y, const Operand& x) { return lang::binary(lang::kElementwiseOps["atan2"], y, x); }

Array negative(const Operand& x) { return lang::unary(lang::kElementwiseOps["negate"], x); }
Array abs(const Operand& x) {
  const bool isSigned = is_float(x.dtype()) || is_signed_integer(x.dtype());
  return isSigned ? lang::unary(lang::kElementwiseOps["abs"], x) : x.array();
}
Array sign(const Operand& x) { return lang::unary(lang::kElementwiseOps["sign"], x); }
Array square(const Operand& x) { return multiply(x, x); }
Array exp(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["exponential"], x); }
Array exp2(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["exp2"], x); }
Array exp(const Operand& x, Tolerance allowed) {
  return lang::unaryFloat(lang::kElementwiseOps["exponential"], x, lang::attributesOf(allowed));
}
Array exp2(const Operand& x, Tolerance allowed) {
  return lang::unaryFloat(lang::kElementwiseOps["exp2"], x, lang::attributesOf(allowed));
}
Array expm1(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["exponential_minus_one"], x); }
Array log(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["log"], x); }
Array log1p(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["log_plus_one"], x); }
Array sqrt(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["sqrt"], x); }
Array rsqrt(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["rsqrt"], x); }
Array cbrt(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["cbrt"], x); }
Array sinh(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["sinh"], x); }
Array cosh(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["cosh"], x); }
Array asinh(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["asinh"], x); }
Array acosh(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["acosh"], x); }
Array atanh(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["atanh"], x); }
Array asin(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["asin"], x); }
Array acos(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["acos"], x); }
Array atan(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["atan"], x); }
Array erfc(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["erfc"], x); }
Array sin(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["sine"], x); }
Array cos(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["cosine"], x); }
Array tan(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["tan"], x); }
Array tanh(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["tanh"], x); }
Array logistic(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["logistic"], x); }
Array erf(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["erf"], x); }
Array floor(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["floor"], x); }
Array ceil(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["ceil"], x); }
Array round(const Operand& x) { return lang::unaryFloat(lang::kElementwiseOps["round_nearest_even"], x); }
Array population_count(const Operand& x) { return integerOp(lang::kElementwiseOps["popcnt"], x); }
Array clz(const Operand& x) { return integerOp(lang::kElementwiseOps["count_leading_zeros"], x); }

Array is_finite(const Operand& x) {
  SourceLocationScope place(x.at());
  if (!is_float(x.dtype())) return full(x.shape(), true);
  return lang::bind1(lang::kElementwiseOps["is_finite"], {x.array()}, {DType::pred, x.shape()});
}
Array isnan(const Operand& x) { return not_equal(x, x); }

Array bitwise_and(const Operand& x, const Operand& y) { return logical(lang::kElementwiseOps["and"], x, y); }
Array bitwise_or(const Operand& x, const Operand& y) { return logical(lang::kElementwiseOps["or"], x, y); }
Array bitwise_xor(const Operand& x, const Operand& y) { return logical(lang::kElementwiseOps["xor"], x, y); }
Array bitwise_not(const Operand& x) {
  SourceLocationScope place(x.at());
  if (is_float(x.dtype())) lang::refuseDType("not", x.dtype(), "integers or pred");
  return lang::unary(lang::kElementwiseOps["not"], x);
}
Array logical_and(const Operand& x, const Operand& y) {
  SourceLocationScope place(x.at());
  return bitwise_and(toPred(x), toPred(y));
}
Array logical_or(const Operand& x, const Operand& y) {
  SourceLocationScope place(x.at());
  return bitwise_or(toPred(x), toPred(y));
}
Array logical_not(const Operand& x) {
  SourceLocationScope place(x.at());
  return bitwise_not(toPred(x));
}
Array shift_left(const Operand& x, const Operand& y) { return shift(lang::kElementwiseOps["shift_left"], x, y); }
Array shift_right_arithmetic(const Operand& x, const Operand& y) {
  return shift(lang::kElementwiseOps["shift_right_arithmetic"], x, y);
}
Array shift_right_logical(const Operand& x, const Operand& y) {
  return shift(lang::kElementwiseOps["shift_right_logical"], x, y);
}
Array operator>>(const Operand& x, const Operand& y) {
  return is_unsigned_integer(x.dtype()) ? shift_right_logical(x, y) : shift_right_arithmetic(x, y);
}

Array equal(const Operand& x, const Operand& y) { return compare("EQ", x, y); }
Array not_equal(const Operand& x, const Operand& y) { return compare("NE", x, y); }
Array less(const Operand& x, const Operand& y) { return compare("LT", x, y); }
Array less_equal(const Operand& x, const Operand& y) { return compare("LE", x, y); }
Array greater(const Operand& x, const Operand& y) { return compare("GT", x, y); }
Array greater_equal(const Operand& x, const Operand& y) { return compare("GE", x, y); }

Array where(const Operand& condition, const Operand& x, const Operand& y) {
  SourceLocationScope place(condition.at());
  const Operand c(toPred(condition), condition.at());
  const lang::Promoted p = lang::promote("where", {&x, &y});
  const Shape shape = lang::broadcastShape("where", {&c, &x, &y});
  return lang::bind1(
             lang::kElementwiseOps["select"],
             {lang::prepare(c, DType::pred, shape), lang::prepare(x, p.dtype, shape), lang::prepare(y, p.dtype, shape)},
             {p.dtype, shape})
      .with_weak_type(p.weak);
}

Array clip(const Operand& x, const Operand& low, const Operand& high) {
  SourceLocationScope place(x.at());
  return minimum(maximum(x, low), high);
}

Array stop_gradient(const Operand& x) {
  SourceLocationScope place(x.at());
  return lang::unary(lang::kElementwiseOps["stop_gradient"], x);
}
Array optimization_barrier(const Operand& x) {
  SourceLocationScope place(x.at());
  if (lang::Trace::current())
    lang::refuse({.code = "SM6402",
                  .message = "'optimization_barrier' is in kernels for GPUs only",
                  .place = {},
                  .need = "an op that a TensorCore has",
                  .have = "optimization_barrier",
                  .help = "leave it out: reads and writes of Refs stay in order"});
  return x.array();
}

}  // namespace smalti
