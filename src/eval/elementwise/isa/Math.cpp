// Transcendental functions of f32, from SLEEF (accuracy u10: within 1 ulp), others in Activations.cpp.
#include "eval/elementwise/isa/Families.h"
#include "eval/elementwise/isa/Sleef.h"

namespace smalti::eval::SMALTI_ISA {
namespace {

template <class Op>
void unary(const void* in, void* out, int64_t n) {
  const float* x = static_cast<const float*>(in);
  float* y = static_cast<float*>(out);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) storeVec(y + i, Op::apply(loadVec(x + i)));
  if (i == n) return;
  float rest[kLanes] = {};
  for (int64_t k = i; k < n; ++k) rest[k - i] = x[k];
  storeVec(rest, Op::apply(loadVec(rest)));
  for (int64_t k = i; k < n; ++k) y[k] = rest[k - i];
}

template <class Op>
void binary(const void* a, const void* b, void* out, int64_t n, Splat splat) {
  if (n <= 0) return;
  const float* x = static_cast<const float*>(a);
  const float* y = static_cast<const float*>(b);
  float* z = static_cast<float*>(out);
  const bool xSplat = splat == Splat::lhs, ySplat = splat == Splat::rhs;
  const Vec left = spread(x[0]), right = spread(y[0]);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    storeVec(z + i, Op::apply(xSplat ? left : loadVec(x + i), ySplat ? right : loadVec(y + i)));
  if (i == n) return;
  float restX[kLanes] = {}, restY[kLanes] = {};
  for (int64_t k = i; k < n; ++k) {
    restX[k - i] = x[xSplat ? 0 : k];
    restY[k - i] = y[ySplat ? 0 : k];
  }
  if (xSplat) storeVec(restX, left);
  if (ySplat) storeVec(restY, right);
  storeVec(restX, Op::apply(loadVec(restX), loadVec(restY)));
  for (int64_t k = i; k < n; ++k) z[k] = restX[k - i];
}

#define SMALTI_UNARY(Name, function, accuracy)                              \
  struct Name {                                                             \
    static Vec apply(Vec x) { return SMALTI_SLEEF(function, accuracy)(x); } \
  };
#define SMALTI_BINARY(Name, function, accuracy)                                       \
  struct Name {                                                                       \
    static Vec apply(Vec x, Vec y) { return SMALTI_SLEEF(function, accuracy)(x, y); } \
  };

SMALTI_UNARY(Acos, acos, u10)
SMALTI_UNARY(Asin, asin, u10)
SMALTI_UNARY(Atan, atan, u10)
SMALTI_UNARY(Atanh, atanh, u10)
SMALTI_UNARY(Cbrt, cbrt, u10)
SMALTI_UNARY(Cos, cos, u10)
SMALTI_UNARY(Exp, exp, u10)
SMALTI_UNARY(Exp2, exp2, u10)
SMALTI_UNARY(Expm1, expm1, u10)
SMALTI_UNARY(Log, log, u10)
SMALTI_UNARY(Log10, log10, u10)
SMALTI_UNARY(Log2, log2, u10)
SMALTI_UNARY(Sin, sin, u10)
SMALTI_UNARY(Tan, tan, u10)
SMALTI_BINARY(Atan2, atan2, u10)
SMALTI_BINARY(Pow, pow, u10)

// Where SLEEF 3.5 overflows too early.

Vec magnitude(Vec x) { return x < spread(0.0f) ? -x : x; }

/// log(2x) where x² would overflow.
Vec logOfTwice(Vec x) { return Log::apply(x) + spread(0.69314718f); }
/// exp(x) / 2 where exp(x) would overflow: x is near 88, so x - 2 is exact.
Vec halfOfExp(Vec x) { return Exp::apply(x - spread(2.0f)) * spread(3.6945280f); }

struct Acosh {
  static Vec apply(Vec x) { return x > spread(1e18f) ? logOfTwice(x) : SMALTI_SLEEF(acosh, u10)(x); }
};
struct Asinh {
  static Vec apply(Vec x) {
    const Vec large = logOfTwice(magnitude(x));
    return magnitude(x) > spread(1e18f) ? (x < spread(0.0f) ? -large : large) : SMALTI_SLEEF(asinh, u10)(x);
  }
};
struct Cosh {
  static Vec apply(Vec x) {
    return magnitude(x) > spread(88.0f) ? halfOfExp(magnitude(x)) : SMALTI_SLEEF(cosh, u10)(x);
  }
};
struct Sinh {
  static Vec apply(Vec x) {
    const Vec large = halfOfExp(magnitude(x));
    return magnitude(x) > spread(88.0f) ? (x < spread(0.0f) ? -large : large) : SMALTI_SLEEF(sinh, u10)(x);
  }
};
/// M. Giles, Approximating the erfinv function (2010): a polynomial in w = -log(1 - x²) for the middle, one in sqrt(w)
/// for the tails. Within 3e-7 of the value.
struct ErfInv {
  static Vec polynomial(Vec w, const float (&coefficients)[9]) {
    Vec p = spread(coefficients[0]);
    for (int i = 1; i < 9; ++i) p = p * w + spread(coefficients[i]);
    return p;
  }
  static Vec apply(Vec x) {
    constexpr float kMiddle[] = {2.81022636e-08f, 3.43273939e-07f, -3.5233877e-06f, -4.39150654e-06f, 0.00021858087f,
                                 -0.00125372503f, -0.00417768164f, 0.246640727f,    1.50140941f};
    constexpr float kTails[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f, -0.00367342844f, 0.00573950773f,
                                -0.0076224613f,   0.00943887047f,  1.00167406f,    2.83297682f};
    const Vec w = -SMALTI_SLEEF(log1p, u10)(-x * x);
    const Vec middle = polynomial(w - spread(2.5f), kMiddle);
    const Vec tails = polynomial(SMALTI_SLEEF(sqrt, u05)(w) - spread(3.0f), kTails);
    const Vec p = w < spread(5.0f) ? middle : tails;
    return magnitude(x) == spread(1.0f) ? x * spread(__builtin_inff()) : p * x;
  }
};
struct Log1p {
  static Vec apply(Vec x) {
    const Vec r = SMALTI_SLEEF(log1p, u10)(x > spread(1e38f) ? x * spread(0.25f) : x);
    return x > spread(1e38f) ? r + spread(1.3862944f) : r;
  }
};

constexpr UnaryRow kUnary[] = {
    {"chlo.erf_inv", unary<ErfInv>},
    {"math.acos", unary<Acos>},
    {"math.acosh", unary<Acosh>},
    {"math.asin", unary<Asin>},
    {"math.asinh", unary<Asinh>},
    {"math.atan", unary<Atan>},
    {"math.atanh", unary<Atanh>},
    {"math.cbrt", unary<Cbrt>},
    {"math.cos", unary<Cos>},
    {"math.cosh", unary<Cosh>},
    {"math.erf", erf},
    {"math.erfc", erfc},
    {"math.exp", unary<Exp>},
    {"math.exp2", unary<Exp2>},
    {"math.expm1", unary<Expm1>},
    {"math.log", unary<Log>},
    {"math.log10", unary<Log10>},
    {"math.log1p", unary<Log1p>},
    {"math.log2", unary<Log2>},
    {"math.sin", unary<Sin>},
    {"math.sinh", unary<Sinh>},
    {"math.tan", unary<Tan>},
    {"math.tanh", tanh},
};

/// Remainder of truncated division. With both f32 as f64, a quotient below 2^29 truncates exactly and its product with
/// the divisor is exact; the rest, rare, goes to the C library.
void remainder(const void* a, const void* b, void* out, int64_t n, Splat splat) {
  const float* x = static_cast<const float*>(a);
  const float* y = static_cast<const float*>(b);
  float* z = static_cast<float*>(out);
  const bool xSplat = splat == Splat::lhs, ySplat = splat == Splat::rhs;
  const float left = n > 0 ? x[0] : 0, right = n > 0 ? y[0] : 0;
  constexpr int64_t kBlock = 64;
  constexpr double kTooLarge = 536870912.0, kLargest = __FLT_MAX__;
  constexpr double kWhole = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to a whole number
  float dividend[kBlock], divisor[kBlock], result[kBlock];
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t count = n - at < kBlock ? n - at : kBlock;
    for (int64_t i = 0; i < kBlock; ++i) dividend[i] = divisor[i] = 1.0f;
    for (int64_t i = 0; i < count; ++i) dividend[i] = xSplat ? left : x[at + i];
    for (int64_t i = 0; i < count; ++i) divisor[i] = ySplat ? right : y[at + i];
    int64_t hard = 0;
    for (int64_t i = 0; i < kBlock; ++i) {
      const double p = dividend[i], q = divisor[i];
      const double quotient = __builtin_fabs(p / q);
      hard += (quotient < kTooLarge ? 0 : 1) + (__builtin_fabs(q) <= kLargest ? 0 : 1);
      const double nearest = (quotient + kWhole) - kWhole;
      const double whole = nearest - (nearest > quotient ? 1.0 : 0.0);
      result[i] = static_cast<float>(__builtin_copysign(__builtin_fabs(p) - whole * __builtin_fabs(q), p));
    }
    if (hard)
      for (int64_t i = 0; i < count; ++i) result[i] = __builtin_fmodf(dividend[i], divisor[i]);
    for (int64_t i = 0; i < count; ++i) z[at + i] = result[i];
  }
}

constexpr BinaryRow kBinary[] = {
    {"arith.remf", remainder},
    {"math.atan2", binary<Atan2>},
    {"math.powf", binary<Pow>},
};

}  // namespace

Rows<UnaryRow> mathUnaryRows() { return SMALTI_ROWS(kUnary); }
Rows<BinaryRow> mathBinaryRows() { return SMALTI_ROWS(kBinary); }

}  // namespace smalti::eval::SMALTI_ISA
