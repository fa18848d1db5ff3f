// Float arithmetic, sign and rounding: everything that IEEE defines exactly.
#include "eval/elementwise/isa/Families.h"
#include "eval/elementwise/isa/Formats.h"
#include "eval/elementwise/isa/Loops.h"

namespace smalti::eval::SMALTI_ISA {
namespace {

float magnitude(float x) { return floatOf(bitsOf(x) & 0x7fffffff); }
float withSign(float x, float sign) { return floatOf((bitsOf(x) & 0x7fffffff) | (bitsOf(sign) & 0x80000000)); }

/// From 2^23 on every f32 is whole. Adding it makes 1 the last place, so the hardware rounds to whole numbers.
constexpr float kAllWholeFrom = 8388608.0f;

/// |x| rounded to a whole number, halves to even.
float wholeMagnitude(float x) {
  const float m = magnitude(x);
  const float rounded = (m + kAllWholeFrom) - kAllWholeFrom;
  return m < kAllWholeFrom ? rounded : m;
}
/// x without its fraction; -0 stays.
float truncated(float x) {
  const float whole = wholeMagnitude(x);
  return withSign(whole > magnitude(x) ? whole - 1.0f : whole, x);
}

struct Add {
  static float apply(float a, float b) { return a + b; }
};
struct Subtract {
  static float apply(float a, float b) { return a - b; }
};
struct Multiply {
  static float apply(float a, float b) { return a * b; }
};
struct Divide {
  static float apply(float a, float b) { return a / b; }
};
/// NaN if either is; +0 above -0.
struct Maximum {
  static float apply(float a, float b) {
    const float larger = a > b ? a : b;
    const float ofEqual = floatOf(bitsOf(a) & bitsOf(b));
    const float ordered = a == b ? ofEqual : larger;
    return a != a || b != b ? a + b : ordered;
  }
};
struct Minimum {
  static float apply(float a, float b) {
    const float smaller = a < b ? a : b;
    const float ofEqual = floatOf(bitsOf(a) | bitsOf(b));
    const float ordered = a == b ? ofEqual : smaller;
    return a != a || b != b ? a + b : ordered;
  }
};
/// The other operand if one is NaN.
struct MaximumNumber {
  static float apply(float a, float b) {
    const float r = Maximum::apply(a, b);
    return a != a ? b : b != b ? a : r;
  }
};
struct MinimumNumber {
  static float apply(float a, float b) {
    const float r = Minimum::apply(a, b);
    return a != a ? b : b != b ? a : r;
  }
};
struct CopySign {
  static float apply(float a, float b) { return withSign(a, b); }
};

struct Negate {
  static float apply(float x) { return floatOf(bitsOf(x) ^ 0x80000000); }
};
struct Absolute {
  static float apply(float x) { return magnitude(x); }
};
struct Truncate {
  static float apply(float x) { return truncated(x); }
};
struct Floor {
  static float apply(float x) {
    const float t = truncated(x);
    return withSign(t > x ? t - 1.0f : t, x);
  }
};
struct Ceil {
  static float apply(float x) {
    const float t = truncated(x);
    return withSign(t < x ? t + 1.0f : t, x);
  }
};
/// Halves go away from zero.
struct Round {
  static float apply(float x) {
    const float t = truncated(x);
    const float away = magnitude(x - t) >= 0.5f ? 1.0f : 0.0f;
    return withSign(magnitude(t) + away, x);
  }
};
struct RoundEven {
  static float apply(float x) { return withSign(wholeMagnitude(x), x); }
};
struct SquareRoot {
  static float apply(float x) { return __builtin_sqrtf(x); }
};
struct ReciprocalSquareRoot {
  static float apply(float x) { return 1.0f / __builtin_sqrtf(x); }
};
struct Reciprocal {
  static float apply(float x) { return 1.0f / x; }
};

/// tpu.weird: NaN or infinite.
struct Weird {
  static bool apply(float x) { return (bitsOf(x) & 0x7f800000) == 0x7f800000; }
};

struct NotANumber {
  static bool apply(float x) { return (bitsOf(x) & 0x7fffffff) > 0x7f800000; }
};
struct Infinite {
  static bool apply(float x) { return (bitsOf(x) & 0x7fffffff) == 0x7f800000; }
};
struct Finite {
  static bool apply(float x) { return !Weird::apply(x); }
};

template <class Op>
constexpr UnaryRow unary(std::string_view name) {
  return {name, unaryLoop<F32, F32, Op>, unaryLoop<Bf16, Bf16, Op>};
}
template <class Op>
constexpr BinaryRow binary(std::string_view name) {
  return {name, binaryLoop<F32, F32, Op>, binaryLoop<Bf16, Bf16, Op>};
}

constexpr UnaryRow kUnary[] = {
    unary<Negate>("arith.negf"),         unary<Absolute>("math.absf"),   unary<Truncate>("math.trunc"),
    unary<Floor>("math.floor"),          unary<Ceil>("math.ceil"),       unary<Round>("math.round"),
    unary<RoundEven>("math.roundeven"),  unary<SquareRoot>("math.sqrt"), unary<ReciprocalSquareRoot>("math.rsqrt"),
    unary<Reciprocal>("tpu.reciprocal"),
};

template <class Op>
constexpr UnaryRow test(std::string_view name) {
  return {name, unaryLoop<F32, Pred, Op>, unaryLoop<Bf16, Pred, Op>};
}

constexpr UnaryRow kTest[] = {
    test<Finite>("math.isfinite"),
    test<Infinite>("math.isinf"),
    test<NotANumber>("math.isnan"),
    test<Weird>("tpu.weird"),
};

constexpr BinaryRow kBinary[] = {
    binary<Add>("arith.addf"),
    binary<Subtract>("arith.subf"),
    binary<Multiply>("arith.mulf"),
    binary<Divide>("arith.divf"),
    binary<Maximum>("arith.maximumf"),
    binary<Minimum>("arith.minimumf"),
    binary<MaximumNumber>("arith.maxnumf"),
    binary<MinimumNumber>("arith.minnumf"),
    binary<CopySign>("math.copysign"),
};

}  // namespace

Rows<UnaryRow> floatUnaryRows() { return SMALTI_ROWS(kUnary); }
Rows<UnaryRow> floatTestRows() { return SMALTI_ROWS(kTest); }
Rows<BinaryRow> floatBinaryRows() { return SMALTI_ROWS(kBinary); }

}  // namespace smalti::eval::SMALTI_ISA
