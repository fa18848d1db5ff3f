#include "Cases.h"

namespace smalti::ops::test {
namespace {

using Unary = Array (*)(const Operand&);
using Binary = Array (*)(const Operand&, const Operand&);

struct UnaryRow {
  const char* jax;
  Unary op;
  double tolerance;  ///< of f32; bf16 has one unit of its last place where this is not 0
};
struct BinaryRow {
  const char* jax;
  Binary op;
  double tolerance = 0;
};

constexpr double kLastPlaceOfBf16 = 1.0 / 128;

Array acoshFromOne(const Operand& x) { return acosh(1 + abs(x)); }

constexpr UnaryRow kAnyFloat[] = {
    {"jnp.abs(a)", abs, 0},
    {"jnp.ceil(a)", ceil, 0},
    {"jnp.cos(a)", cos, 3e-6},
    {"jnp.exp(a)", exp, 2e-6},
    {"jnp.exp2(a.astype(jnp.float32)).astype(a.dtype)", exp2, 2e-6},  // JAX on the CPU rounds x * log(2) to bf16
    {"jnp.floor(a)", floor, 0},
    {"jnp.isfinite(a)", is_finite, 0},
    {"jnp.isnan(a)", isnan, 0},
    {"jnp.negative(a)", negative, 0},
    {"jnp.round(a)", round, 0},
    {"jnp.sign(a)", sign, 0},
    {"jnp.sin(a)", sin, 3e-6},
    {"jnp.square(a)", square, 0},
    {"jnp.tan(a)", tan, 1e-5},
    {"jnp.tanh(a)", tanh, 2e-6},
    {"lax.erf(a)", erf, 2e-6},
    {"lax.logistic(a)", logistic, 2e-6},
    {"jax.nn.leaky_relu(a)", [](const Operand& x) { return leaky_relu(x); }, 1e-6},
    {"jax.nn.relu(a)", relu, 0},
    {"jax.nn.relu6(a)", relu6, 0},
    {"jax.nn.silu(a)", silu, 3e-6},
    {"jax.nn.softplus(a)", softplus, 3e-6},
};
constexpr UnaryRow kPositive[] = {
    {"jnp.log(a)", log, 2e-6},     {"jnp.log1p(a)", log1p, 2e-6},     {"jnp.sqrt(a)", sqrt, 2e-6},
    {"lax.rsqrt(a)", rsqrt, 2e-6}, {"lax.erf_inv(a)", erf_inv, 1e-5},
};
/// Not in kernels.
constexpr UnaryRow kOutside[] = {
    {"jnp.cbrt(a)", cbrt, 2e-6}, {"jnp.sinh(a)", sinh, 2e-6},   {"jnp.cosh(a)", cosh, 2e-6},
    {"jnp.atan(a)", atan, 2e-6}, {"jnp.asinh(a)", asinh, 5e-6}, {"jnp.acosh(1 + abs(a))", acoshFromOne, 5e-6},
    {"lax.erfc(a)", erfc, 2e-5},
};
/// Of numbers in [0, 1).
constexpr UnaryRow kOutsideOfFractions[] = {
    {"jnp.expm1(a)", expm1, 2e-6},
    {"jnp.asin(a)", asin, 5e-6},
    {"jnp.acos(a)", acos, 5e-6},
    {"jnp.atanh(a)", atanh, 5e-6},
};
constexpr UnaryRow kIntegers[] = {
    {"jnp.abs(a)", abs, 0},           {"jnp.bitwise_not(a)", bitwise_not, 0},
    {"jnp.negative(a)", negative, 0}, {"jnp.sign(a)", sign, 0},
    {"lax.clz(a)", clz, 0},           {"lax.population_count(a)", population_count, 0},
};
constexpr BinaryRow kArithmetic[] = {
    {"a + b", add},
    {"a - b", subtract},
    {"a * b", multiply},
    {"jnp.maximum(a, b)", maximum},
    {"jnp.minimum(a, b)", minimum},
    {"a == b", equal},
    {"a != b", not_equal},
    {"a < b", less},
    {"a <= b", less_equal},
    {"a > b", greater},
    {"a >= b", greater_equal},
};
constexpr BinaryRow kFloatPairs[] = {
    {"a / b", divide, 2e-7},
    {"jnp.arctan2(a, b)", atan2, 3e-6},
    {"lax.rem(a, b)", rem, 0},
    {"jnp.nextafter(a, b)", nextafter, 0},
};
constexpr BinaryRow kIntegerPairs[] = {
    {"lax.div(a, b)", div}, {"lax.rem(a, b)", rem}, {"a // b", floor_divide}, {"a % b", mod},
    {"a & b", bitwise_and}, {"a | b", bitwise_or},  {"a ^ b", bitwise_xor},
};
constexpr BinaryRow kShifts[] = {
    {"lax.shift_left(a, b)", shift_left},
    {"lax.shift_right_logical(a, b)", shift_right_logical},
    {"lax.shift_right_arithmetic(a, b)", shift_right_arithmetic},
};

double toleranceOf(double ofF32, DType t) { return t == DType::bf16 && ofF32 > 0 ? kLastPlaceOfBf16 : ofF32; }

void put(std::vector<Case>& to, const UnaryRow& row, const Array& a, bool inKernels = true) {
  to.push_back({row.jax,
                {a},
                [op = row.op](const Inputs& x) { return op(x[0]); },
                toleranceOf(row.tolerance, a.dtype()),
                inKernels});
}
void put(std::vector<Case>& to, const BinaryRow& row, const Array& a, const Array& b) {
  to.push_back({row.jax,
                {a, b},
                [op = row.op](const Inputs& x) { return op(x[0], x[1]); },
                toleranceOf(row.tolerance, a.dtype())});
}

/// Zeros become 1: what division by zero gives differs between machines.
Array divisors(const Array& x) { return where(x == 0, full({}, 1, x.dtype()), x); }

void bools(std::vector<Case>& cases) {
  const std::pair<const char*, Binary> rows[] = {
      {"(a > 0) == (b > 0)", equal},
      {"(a > 0) != (b > 0)", not_equal},
      {"(a > 0) < (b > 0)", less},
      {"(a > 0) <= (b > 0)", less_equal},
      {"(a > 0) > (b > 0)", greater},
      {"(a > 0) >= (b > 0)", greater_equal},
      {"jnp.logical_and(a > 0, b > 0)", logical_and},
      {"jnp.logical_or(a > 0, b > 0)", logical_or},
      {"(a > 0) ^ (b > 0)", bitwise_xor},
  };
  for (const DType t : {DType::f32, DType::bf16, DType::i32}) {
    const Array a = numbers({16, 128}, t), b = numbers({16, 128}, t, 1);
    for (const auto& [jax, op] : rows)
      cases.push_back({jax, {a, b}, [op = op](auto& x) { return op(x[0] > 0, x[1] > 0); }});
    cases.push_back({"jnp.logical_not(a > 0)", {a}, [](auto& x) { return logical_not(x[0] > 0); }});
  }
}

}  // namespace

std::vector<Case> elementwiseCases() {
  std::vector<Case> cases;
  const Shape tile{16, 128};
  for (const DType t : {DType::f32, DType::bf16}) {
    for (const UnaryRow& row : kAnyFloat) {
      put(cases, row, numbers(tile, t));
      put(cases, row, special({8, 128}, t));
    }
    for (const UnaryRow& row : kPositive) put(cases, row, fractions(tile, t));
    for (const auto x : {numbers, special}) {
      for (const BinaryRow& row : kArithmetic) put(cases, row, x(tile, t, 0), x(tile, t, 1));
      for (const BinaryRow& row : kFloatPairs) put(cases, row, x(tile, t, 0), x(tile, t, 1));
    }
    put(cases, BinaryRow{"jnp.power(a, b)", pow, 1e-5}, fractions(tile, t), numbers(tile, t));
    cases.push_back({"jax.nn.gelu(a)", {numbers(tile, t)}, [](auto& x) { return gelu(x[0]); }, toleranceOf(1e-5, t)});
    for (const UnaryRow& row : kOutside) put(cases, row, numbers(tile, t), false);
    for (const UnaryRow& row : kOutsideOfFractions) put(cases, row, fractions(tile, t), false);
    cases.push_back({"a ** 3", {numbers(tile, t)}, [](auto& x) { return integer_pow(x[0], 3); }, toleranceOf(3e-7, t)});
  }
  for (const DType t : {DType::i8, DType::i16, DType::i32, DType::u8, DType::u16, DType::u32}) {
    const Array a = special({32, 128}, t, 0), b = special({32, 128}, t, 1), n = numbers({32, 128}, t, 2);
    for (const UnaryRow& row : kIntegers) put(cases, row, a);
    for (const BinaryRow& row : kArithmetic) put(cases, row, a, b);
    for (const BinaryRow& row : kIntegerPairs) put(cases, row, n, divisors(b));
    for (const BinaryRow& row : kShifts) put(cases, row, a, astype(numbers({32, 128}, DType::u8, 1) % 8, t));
  }
  // Broadcasting, weak numbers, promotion, nothing at all.
  const Array m = numbers({8, 128}, DType::f32), row = numbers({128}, DType::f32), column = numbers({8, 1}, DType::f32);
  const Array i = numbers({8, 128}, DType::i32), h = numbers({8, 128}, DType::bf16),
              none = numbers({0, 128}, DType::f32);
  put(cases, BinaryRow{"a + b", add}, m, row);
  put(cases, BinaryRow{"a * b", multiply}, column, row);
  put(cases, BinaryRow{"a + b", add}, m, i);
  put(cases, BinaryRow{"a * b", multiply}, h, i);
  put(cases, BinaryRow{"a / b", divide}, i, divisors(i));
  cases.push_back({"a * 2.5 + 1", {h}, [](auto& x) { return x[0] * 2.5 + 1; }});
  cases.push_back({"a * 2.5", {i}, [](auto& x) { return x[0] * 2.5; }});
  cases.push_back({"a + 1", {none}, [](auto& x) { return x[0] + 1; }, 0, false});
  cases.push_back({"jnp.where(a > 0, a, b)", {m, row}, [](auto& x) { return where(x[0] > 0, x[0], x[1]); }});
  cases.push_back({"jnp.clip(a, -2, 3)", {m}, [](auto& x) { return clip(x[0], -2, 3); }});
  bools(cases);
  return cases;
}

}  // namespace smalti::ops::test
