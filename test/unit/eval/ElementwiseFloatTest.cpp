// Float ops on every float type, against the C library in f64.
#include <functional>
#include <map>
#include <string>

#include "ElementwiseTesting.h"

namespace smalti::eval::test {
namespace {

using Unary = std::function<double(double)>;
using Binary = std::function<double(double, double)>;

class Floats : public OnEveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, Floats, everyIsa(), isaName);

double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return NAN;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
double minimum(double a, double b) { return -maximum(-a, -b); }
double roundEven(double x) { return std::nearbyint(x); }

/// f32 of the exact value, then rounded to the type: what one op on a narrow float gives.
double throughF32(DType t, double exact) {
  uint64_t element = 0;
  elementFromDouble(t, static_cast<double>(static_cast<float>(exact)), &element);
  return elementAsDouble(t, &element);
}

/// The distance in units of the last place of an f32 of that size; 0 if equal, infinity if NaN, ∞ or sign differ.
double ulpsApart(double got, double expected) {
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got) ? 0 : INFINITY;
  const double rounded = static_cast<float>(expected);
  if (got == rounded) return std::signbit(got) == std::signbit(rounded) ? 0 : INFINITY;
  if (std::isinf(got) || std::isinf(rounded)) return INFINITY;
  int exponent = 0;
  std::frexp(expected, &exponent);
  return std::fabs(got - expected) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

void expectExact(const std::string& op, DType t, const Binary& reference) {
  std::vector<double> x, y;
  floatOperands(t, x, y);
  const Elements a(t, x), b(t, y), out = run(findBinary(op, t), a, b, t);
  int failures = 0;
  for (int64_t i = 0; i < a.size() && failures < 5; ++i) {
    const double expected = throughF32(t, reference(a.value(i), b.value(i)));
    failures += !same(out.value(i), expected);
    EXPECT_TRUE(same(out.value(i), expected)) << op << " " << name(t) << " of " << a.value(i) << ", " << b.value(i)
                                              << ": " << out.value(i) << ", expected " << expected;
  }
}

void expectExact(const std::string& op, DType t, const Unary& reference) {
  std::vector<double> x, y;
  floatOperands(t, x, y);
  const Elements a(t, x), out = run(findUnary(op, t), a, t);
  for (int64_t i = 0; i < a.size(); ++i) {
    const double expected = throughF32(t, reference(a.value(i)));
    ASSERT_TRUE(same(out.value(i), expected))
        << op << " " << name(t) << " of " << a.value(i) << ": " << out.value(i) << ", expected " << expected;
  }
}

TEST_P(Floats, ArithmeticIsRoundedOnceFromF32) {
  for (const DType t : floatTypes()) {
    expectExact("arith.addf", t, Binary([](double a, double b) { return a + b; }));
    expectExact("arith.subf", t, Binary([](double a, double b) { return a - b; }));
    expectExact("arith.mulf", t, Binary([](double a, double b) { return a * b; }));
    expectExact("arith.divf", t, Binary([](double a, double b) { return a / b; }));
    expectExact("arith.remf", t, Binary([](double a, double b) { return std::fmod(a, b); }));
    expectExact("math.copysign", t, Binary([](double a, double b) { return std::copysign(a, b); }));
    expectExact("arith.negf", t, Unary([](double x) { return -x; }));
    expectExact("math.absf", t, Unary([](double x) { return std::fabs(x); }));
    expectExact("math.sqrt", t, Unary([](double x) { return std::sqrt(x); }));
    expectExact("tpu.reciprocal", t, Unary([](double x) { return 1 / x; }));
  }
}

TEST_P(Floats, SE7_MaximumAndMinimumPropagateNanAndOrderZeros) {
  for (const DType t : floatTypes()) {
    expectExact("arith.maximumf", t, Binary(maximum));
    expectExact("arith.minimumf", t, Binary(minimum));
    expectExact("arith.maxnumf", t, Binary([](double a, double b) {
                  return std::isnan(a) ? b : std::isnan(b) ? a : maximum(a, b);
                }));
    expectExact("arith.minnumf", t, Binary([](double a, double b) {
                  return std::isnan(a) ? b : std::isnan(b) ? a : minimum(a, b);
                }));
  }
}

TEST_P(Floats, SE11_RoundAwayFromZeroAndToNearestEvenKeepNanAndZeros) {
  for (const DType t : floatTypes()) {
    expectExact("math.round", t, Unary([](double x) { return std::round(x); }));
    expectExact("math.roundeven", t, Unary(roundEven));
    expectExact("math.floor", t, Unary([](double x) { return std::floor(x); }));
    expectExact("math.ceil", t, Unary([](double x) { return std::ceil(x); }));
    expectExact("math.trunc", t, Unary([](double x) { return std::trunc(x); }));
  }
}

TEST_P(Floats, SE6_NotEqualIsTrueForNanAndTheOtherOrderedComparesAreFalse) {
  const std::map<std::string, std::function<bool(double, double)>> references = {
      {"false", [](double, double) { return false; }},
      {"oeq", [](double a, double b) { return a == b; }},
      {"ogt", [](double a, double b) { return a > b; }},
      {"oge", [](double a, double b) { return a >= b; }},
      {"olt", [](double a, double b) { return a < b; }},
      {"ole", [](double a, double b) { return a <= b; }},
      {"one", [](double a, double b) { return !(a == b); }},
      {"ord", [](double a, double b) { return !std::isnan(a) && !std::isnan(b); }},
      {"ueq", [](double a, double b) { return std::isnan(a) || std::isnan(b) || a == b; }},
      {"ugt", [](double a, double b) { return std::isnan(a) || std::isnan(b) || a > b; }},
      {"uge", [](double a, double b) { return std::isnan(a) || std::isnan(b) || a >= b; }},
      {"ult", [](double a, double b) { return std::isnan(a) || std::isnan(b) || a < b; }},
      {"ule", [](double a, double b) { return std::isnan(a) || std::isnan(b) || a <= b; }},
      {"une", [](double a, double b) { return !(a == b); }},
      {"uno", [](double a, double b) { return std::isnan(a) || std::isnan(b); }},
      {"true", [](double, double) { return true; }},
  };
  std::vector<DType> types = floatTypes();
  types.push_back(DType::f64);
  for (const DType t : types) {
    std::vector<double> x, y;
    floatOperands(t, x, y);
    const Elements a(t, x), b(t, y);
    for (const auto& [predicate, reference] : references) {
      const Elements out = run(findBinary("arith.cmpf." + predicate, t), a, b, DType::pred);
      for (int64_t i = 0; i < a.size(); ++i)
        ASSERT_EQ(out.raw(i), reference(a.value(i), b.value(i)) ? 1u : 0u)
            << predicate << " " << name(t) << " of " << a.value(i) << ", " << b.value(i);
    }
  }
}

TEST_P(Floats, TestsOfNanAndInfinity) {
  const std::map<std::string, bool (*)(double)> tests{
      {"math.isfinite", [](double x) { return std::isfinite(x); }},
      {"math.isinf", [](double x) { return std::isinf(x); }},
      {"math.isnan", [](double x) { return std::isnan(x); }},
      {"tpu.weird", [](double x) { return !std::isfinite(x); }},
  };
  std::vector<DType> types = floatTypes();
  types.push_back(DType::f64);
  for (const DType t : types)
    for (const auto& [op, expected] : tests) {
      const Elements a(t, specialFloats()), out = run(findUnary(op, t), a, DType::pred);
      for (int64_t i = 0; i < a.size(); ++i)
        EXPECT_EQ(out.raw(i), expected(a.value(i)) ? 1u : 0u) << op << " " << name(t) << " " << a.value(i);
    }
}

const std::map<std::string, Unary>& functions() {
#define SMALTI_FUNCTION(f)                         \
  {                                                \
    "math." #f, [](double x) { return std::f(x); } \
  }
  static const std::map<std::string, Unary> all = {
      SMALTI_FUNCTION(acos),
      SMALTI_FUNCTION(acosh),
      SMALTI_FUNCTION(asin),
      SMALTI_FUNCTION(asinh),
      SMALTI_FUNCTION(atan),
      SMALTI_FUNCTION(atanh),
      SMALTI_FUNCTION(cbrt),
      SMALTI_FUNCTION(cos),
      SMALTI_FUNCTION(cosh),
      SMALTI_FUNCTION(erf),
      SMALTI_FUNCTION(erfc),
      SMALTI_FUNCTION(exp),
      SMALTI_FUNCTION(exp2),
      SMALTI_FUNCTION(expm1),
      SMALTI_FUNCTION(log),
      SMALTI_FUNCTION(log10),
      SMALTI_FUNCTION(log1p),
      SMALTI_FUNCTION(log2),
      SMALTI_FUNCTION(sin),
      SMALTI_FUNCTION(sinh),
      SMALTI_FUNCTION(tan),
      SMALTI_FUNCTION(tanh),
      {"math.rsqrt", [](double x) { return 1 / std::sqrt(x); }},
  };
#undef SMALTI_FUNCTION
  return all;
}

TEST_P(Floats, FunctionsOfF32AreWithinTwoUlps) {
  std::vector<double> values = specialFloats();
  std::mt19937 random(5);
  for (int i = 0; i < 40001; ++i) values.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  for (int i = -4000; i <= 4000; ++i) values.push_back(i / 32.0);
  for (const double x : {88.5, 88.9, 89.3, 89.5, 1.1e38, 3e38, 1e19, 1e10}) values.push_back(x), values.push_back(-x);
  const Elements in(DType::f32, values);
  for (const auto& [op, reference] : functions()) {
    const Elements out = run(findUnary(op, DType::f32), in, DType::f32);
    int failures = 0;
    for (int64_t i = 0; i < in.size() && failures < 5; ++i) {
      const double ulps = ulpsApart(out.value(i), reference(in.value(i)));
      failures += !(ulps <= 2);
      EXPECT_LE(ulps, 2) << op << " of " << in.value(i) << ": " << out.value(i) << ", expected "
                         << reference(in.value(i));
    }
  }
}

TEST_P(Floats, PowAndAtan2AreWithinTwoUlps) {
  const std::map<std::string, Binary> references = {
      {"math.powf", [](double a, double b) { return std::pow(a, b); }},
      {"math.atan2", [](double a, double b) { return std::atan2(a, b); }},
  };
  std::vector<double> x, y;
  floatOperands(DType::f32, x, y);
  const Elements a(DType::f32, x), b(DType::f32, y);
  for (const auto& [op, reference] : references) {
    const Elements out = run(findBinary(op, DType::f32), a, b, DType::f32);
    for (int64_t i = 0; i < a.size(); ++i)
      ASSERT_LE(ulpsApart(out.value(i), reference(a.value(i), b.value(i))), 2)
          << op << " of " << a.value(i) << ", " << b.value(i) << ": " << out.value(i);
  }
}

/// A narrow result is the rounding of an f32 result, so at most one neighbour away from the exact value's rounding.
TEST_P(Floats, FunctionsOfNarrowFloatsAreF32FunctionsRounded) {
  for (const DType t : {DType::bf16, DType::f16, DType::f8e5m2, DType::f8e4m3fn, DType::f8e4m3b11fnuz, DType::f8e8m0fnu,
                        DType::f4e2m1fn}) {
    const int64_t n = int64_t{1} << bit_width(t);
    Elements all(t, n);
    for (int64_t i = 0; i < n; ++i) all.setBits(i, static_cast<uint64_t>(i));
    Elements wide(DType::f32, n);
    findConvert("arith.extf", t, DType::f32)(all.bytes.data(), wide.bytes.data(), n);
    for (const auto& [op, reference] : functions()) {
      const Elements narrow = run(findUnary(op, t), all, t), f32 = run(findUnary(op, DType::f32), wide, DType::f32);
      const Elements expected = run(findConvert("arith.truncf", DType::f32, t), f32, t);
      ASSERT_EQ(narrow.bytes, expected.bytes) << op << " " << name(t);
    }
  }
}

TEST_P(Floats, SE12_ApproximateReciprocalGoesThroughBf16) {
  const Elements in(DType::f32, specialFloats());
  Elements out(DType::f32, in.size());
  reciprocalApprox(reinterpret_cast<const float*>(in.bytes.data()), reinterpret_cast<float*>(out.bytes.data()),
                   in.size());
  for (int64_t i = 0; i < in.size(); ++i) {
    const float bf16 = bf16ToF32(f32ToBf16(static_cast<float>(in.value(i))));
    EXPECT_TRUE(same(out.value(i), 1.0f / bf16)) << in.value(i);
  }
}

TEST_P(Floats, F64HasTheOpsOfArrays) {
  std::vector<double> x, y;
  floatOperands(DType::f64, x, y);
  const Elements a(DType::f64, x), b(DType::f64, y);
  for (const auto& [op, reference] : functions()) {
    const Elements out = run(findUnary(op, DType::f64), a, DType::f64);
    for (int64_t i = 0; i < a.size(); ++i) ASSERT_TRUE(same(out.value(i), reference(a.value(i)))) << op;
  }
  const Elements sum = run(findBinary("arith.addf", DType::f64), a, b, DType::f64);
  const Elements larger = run(findBinary("arith.maximumf", DType::f64), a, b, DType::f64);
  for (int64_t i = 0; i < a.size(); ++i) {
    ASSERT_TRUE(same(sum.value(i), a.value(i) + b.value(i)));
    ASSERT_TRUE(same(larger.value(i), maximum(a.value(i), b.value(i))));
  }
}

TEST_P(Floats, SplatsTailsAndInPlaceGiveTheSameAsWholeArrays) {
  for (const DType t : {DType::f32, DType::bf16, DType::f8e4m3fn, DType::f64}) {
    std::vector<double> x, y;
    floatOperands(t, x, y);
    for (const char* op : {"arith.subf", "arith.remf", "math.powf", "math.atan2", "arith.cmpf.olt"}) {
      const BinaryKernel kernel = findBinary(op, t);
      const DType to = std::string_view(op).starts_with("arith.cmpf") ? DType::pred : t;
      for (const int64_t n : {0, 1, 5, 16, 31, 255, 700}) {
        const Elements left(t, std::vector<double>(x.end() - n, x.end())), right(t, std::vector(y.end() - n, y.end()));
        const Elements one(t, {2.75}), spread(t, std::vector<double>(n, 2.75));
        Elements splatLeft(to, n), splatRight(to, n);
        kernel(one.bytes.data(), right.bytes.data(), splatLeft.bytes.data(), n, Splat::lhs);
        kernel(left.bytes.data(), one.bytes.data(), splatRight.bytes.data(), n, Splat::rhs);
        EXPECT_EQ(splatLeft.bytes, run(kernel, spread, right, to).bytes) << op << " " << name(t) << " " << n;
        EXPECT_EQ(splatRight.bytes, run(kernel, left, spread, to).bytes) << op << " " << name(t) << " " << n;
        if (to != t) continue;
        Elements inPlace = left;
        kernel(inPlace.bytes.data(), right.bytes.data(), inPlace.bytes.data(), n, Splat::none);
        EXPECT_EQ(inPlace.bytes, run(kernel, left, right, t).bytes) << op << " " << name(t) << " " << n;
      }
    }
    for (const char* op : {"math.exp", "math.floor", "arith.negf"}) {
      for (const int64_t n : {1, 5, 31, 300}) {
        Elements inPlace(t, std::vector<double>(x.end() - n, x.end()));
        const Elements expected = run(findUnary(op, t), inPlace, t);
        findUnary(op, t)(inPlace.bytes.data(), inPlace.bytes.data(), n);
        EXPECT_EQ(inPlace.bytes, expected.bytes) << op << " " << name(t) << " " << n;
      }
    }
  }
}

/// IEEE ops and conversions give the same bits whatever the machine.
TEST(FloatsAcrossIsas, ExactOpsAreBitIdentical) {
  const Isa before = activeIsa();
  for (const DType t : floatTypes()) {
    std::vector<double> x, y;
    floatOperands(t, x, y);
    const Elements a(t, x), b(t, y);
    for (const char* op : {"arith.addf", "arith.mulf", "arith.divf", "arith.remf", "arith.maximumf", "math.copysign"}) {
      setActiveIsa(Isa::baseline);
      const Elements expected = run(findBinary(op, t), a, b, t);
      for (const Isa isa : {Isa::avx2, Isa::avx512}) {
        if (!isaSupported(isa)) continue;
        setActiveIsa(isa);
        const Elements out = run(findBinary(op, t), a, b, t);
        for (int64_t i = 0; i < a.size(); ++i)
          ASSERT_TRUE(out.raw(i) == expected.raw(i) || (std::isnan(out.value(i)) && std::isnan(expected.value(i))))
              << op;
      }
    }
  }
  setActiveIsa(before);
}

}  // namespace
}  // namespace smalti::eval::test
