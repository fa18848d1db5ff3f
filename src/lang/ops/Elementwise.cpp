// Element-wise ops: promotion and broadcasting here, values in src/eval.
#include "smalti/ops/elementwise.h"

#include "lang/ops/Support.h"
#include "smalti/ops/create.h"

namespace smalti {

using lang::AtPlace;

namespace {

Array logical(std::string_view op, const Operand& x, const Operand& y) {
  AtPlace place(x.at());
  const lang::Promoted p = lang::promote(op, {&x, &y});
  if (is_float(p.dtype)) lang::refuseDType(op, p.dtype, "integers or pred");
  return lang::binary(op, x, y);
}

Array shift(std::string_view op, const Operand& x, const Operand& y) {
  AtPlace place(x.at());
  const lang::Promoted p = lang::promote(op, {&x, &y});
  if (!is_integer(p.dtype)) lang::refuseDType(op, p.dtype, "integers");
  return lang::binary(op, x, y);
}

Array compare(std::string_view direction, const Operand& x, const Operand& y) {
  AtPlace place(x.at());
  const lang::Promoted p = lang::promote("compare", {&x, &y});
  const Shape shape = lang::broadcastShape("compare", {&x, &y});
  const char* type = is_float(p.dtype) ? "FLOAT" : is_signed_integer(p.dtype) ? "SIGNED" : "UNSIGNED";
  return lang::bind1("compare", {lang::prepare(x, p.dtype, shape), lang::prepare(y, p.dtype, shape)},
                     {DType::pred, shape},
                     {{"comparison_direction", std::string(direction)}, {"compare_type", std::string(type)}});
}

Array integerOp(std::string_view op, const Operand& x) {
  AtPlace place(x.at());
  if (!is_integer(x.dtype())) lang::refuseDType(op, x.dtype(), "integers");
  return lang::unary(op, x);
}

Array toPred(const Operand& x) {
  if (x.dtype() == DType::pred) return x.array();
  return not_equal(x, Operand(0, x.at()));
}

}  // namespace

Array add(const Operand& x, const Operand& y) { return lang::binary("add", x, y); }
Array subtract(const Operand& x, const Operand& y) { return lang::binary("subtract", x, y); }
Array multiply(const Operand& x, const Operand& y) { return lang::binary("multiply", x, y); }
Array div(const Operand& x, const Operand& y) { return lang::binary("divide", x, y); }
Array rem(const Operand& x, const Operand& y) { return lang::binary("remainder", x, y); }
Array maximum(const Operand& x, const Operand& y) { return lang::binary("maximum", x, y); }
Array minimum(const Operand& x, const Operand& y) { return lang::binary("minimum", x, y); }

Array divide(const Operand& x, const Operand& y) {
  AtPlace place(x.at());
  const lang::Promoted p = lang::promote("divide", {&x, &y});
  if (is_float(p.dtype)) return lang::binary("divide", x, y);
  return lang::binary("divide", Operand(lang::convertTo(x.array(), DType::f32), x.at()),
                      Operand(lang::convertTo(y.array(), DType::f32), y.at()));
}

Array floor_divide(const Operand& x, const Operand& y) {
  AtPlace place(x.at());
  const lang::Promoted p = lang::promote("floor_divide", {&x, &y});
  if (is_float(p.dtype)) return floor(lang::binary("divide", x, y));
  const Array q = div(x, y);
  if (is_unsigned_integer(p.dtype)) return q;
  const Array r = rem(x, y);
  return where(logical_and(not_equal(sign(r), sign(Operand(lang::convertTo(y.array(), p.dtype)))), not_equal(r, 0)),
               q - 1, q);
}

Array mod(const Operand& x, const Operand& y) {
  AtPlace place(x.at());
  const Array r = rem(x, y);
  if (is_unsigned_integer(r.dtype())) return r;
  return where(logical_and(not_equal(less(r, 0), less(y, 0)), not_equal(r, 0)), r + y, r);
}

Array pow(const Operand& x, const Operand& y) {
  AtPlace place(x.at());
  const lang::Promoted p = lang::promote("pow", {&x, &y});
  if (is_float(p.dtype)) return lang::binary("power", x, y);
  return lang::binary("power", Operand(lang::convertTo(x.array(), DType::f32), x.at()), y);
}

Array integer_pow(const Operand& x, int exponent) {
  AtPlace place(x.at());
  if (exponent < 0) return divide(1, integer_pow(x, -exponent));
  Array base = x.array(), result;
  bool any = false;
  for (int e = exponent; e > 0; e >>= 1) {
    if (e & 1) result = any ? multiply(result, base) : base, any = true;
    if (e > 1) base = multiply(base, base);
  }
  return any ? result : full_like(x.array(), 1);
}

Array atan2(const Operand& y, const Operand& x) { return lang::binary("atan2", y, x); }

Array negative(const Operand& x) { return lang::unary("negate", x); }
Array abs(const Operand& x) { return lang::unary("abs", x); }
Array sign(const Operand& x) { return lang::unary("sign", x); }
Array square(const Operand& x) { return multiply(x, x); }
Array exp(const Operand& x) { return lang::unaryFloat("exponential", x); }
Array exp2(const Operand& x) { return lang::unaryFloat("exp2", x); }
Array expm1(const Operand& x) { return lang::unaryFloat("exponential_minus_one", x); }
Array log(const Operand& x) { return lang::unaryFloat("log", x); }
Array log1p(const Operand& x) { return lang::unaryFloat("log_plus_one", x); }
Array sqrt(const Operand& x) { return lang::unaryFloat("sqrt", x); }
Array rsqrt(const Operand& x) { return lang::unaryFloat("rsqrt", x); }
Array cbrt(const Operand& x) { return lang::unaryFloat("cbrt", x); }
Array sin(const Operand& x) { return lang::unaryFloat("sine", x); }
Array cos(const Operand& x) { return lang::unaryFloat("cosine", x); }
Array tan(const Operand& x) { return lang::unaryFloat("tan", x); }
Array tanh(const Operand& x) { return lang::unaryFloat("tanh", x); }
Array logistic(const Operand& x) { return lang::unaryFloat("logistic", x); }
Array erf(const Operand& x) { return lang::unaryFloat("erf", x); }
Array floor(const Operand& x) { return lang::unaryFloat("floor", x); }
Array ceil(const Operand& x) { return lang::unaryFloat("ceil", x); }
Array round(const Operand& x) { return lang::unaryFloat("round_nearest_even", x); }
Array population_count(const Operand& x) { return integerOp("popcnt", x); }
Array clz(const Operand& x) { return integerOp("count_leading_zeros", x); }

Array is_finite(const Operand& x) {
  AtPlace place(x.at());
  if (!is_float(x.dtype())) return full(x.shape(), true);
  return lang::bind1("is_finite", {x.array()}, {DType::pred, x.shape()});
}
Array isnan(const Operand& x) { return not_equal(x, x); }

Array bitwise_and(const Operand& x, const Operand& y) { return logical("and", x, y); }
Array bitwise_or(const Operand& x, const Operand& y) { return logical("or", x, y); }
Array bitwise_xor(const Operand& x, const Operand& y) { return logical("xor", x, y); }
Array bitwise_not(const Operand& x) {
  AtPlace place(x.at());
  if (is_float(x.dtype())) lang::refuseDType("not", x.dtype(), "integers or pred");
  return lang::unary("not", x);
}
Array logical_and(const Operand& x, const Operand& y) {
  AtPlace place(x.at());
  return bitwise_and(toPred(x), toPred(y));
}
Array logical_or(const Operand& x, const Operand& y) {
  AtPlace place(x.at());
  return bitwise_or(toPred(x), toPred(y));
}
Array logical_not(const Operand& x) {
  AtPlace place(x.at());
  return bitwise_not(toPred(x));
}
Array shift_left(const Operand& x, const Operand& y) { return shift("shift_left", x, y); }
Array shift_right_arithmetic(const Operand& x, const Operand& y) { return shift("shift_right_arithmetic", x, y); }
Array shift_right_logical(const Operand& x, const Operand& y) { return shift("shift_right_logical", x, y); }
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
  AtPlace place(condition.at());
  const Operand c(toPred(condition), condition.at());
  const lang::Promoted p = lang::promote("where", {&x, &y});
  const Shape shape = lang::broadcastShape("where", {&c, &x, &y});
  return lang::bind1(
             "select",
             {lang::prepare(c, DType::pred, shape), lang::prepare(x, p.dtype, shape), lang::prepare(y, p.dtype, shape)},
             {p.dtype, shape})
      .with_weak_type(p.weak);
}

Array clip(const Operand& x, const Operand& low, const Operand& high) {
  AtPlace place(x.at());
  return minimum(maximum(x, low), high);
}

Array stop_gradient(const Operand& x) { return x.array(); }
Array optimization_barrier(const Operand& x) {
  AtPlace place(x.at());
  if (lang::Trace::current())
    lang::refuse({.code = "SM6402",
                  .message = "'optimization_barrier' is in kernels for GPUs only",
                  .place = {},
                  .need = "an op that a TensorCore has",
                  .have = "optimization_barrier",
                  .help = "leave it out: reads and writes of Refs stay in order"});
  return x.array();
}

Array astype(const Operand& x, DType dtype) {
  AtPlace place(x.at());
  return lang::convertTo(x.array(), dtype).with_weak_type(false);
}

Array bitcast_convert_type(const Operand& x, DType dtype) {
  AtPlace place(x.at());
  if (x.dtype() == dtype) return x.array();
  if (bit_width(x.dtype()) != bit_width(dtype))
    lang::refuse({.code = "SM6306",
                  .message = "bitcast_convert_type cannot change the width of elements",
                  .place = {},
                  .need = std::to_string(bit_width(x.dtype())) + " bits",
                  .have = std::to_string(bit_width(dtype)) + " bits",
                  .help = "use bitcast, which packs along the second-minor axis"});
  return lang::bind1("bitcast_convert", {x.array()}, {dtype, x.shape()});
}

}  // namespace smalti
