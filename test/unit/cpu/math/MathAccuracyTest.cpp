// Every function within its bound on the ranges where it changes its way, and on a random sample of all f32.
#include <algorithm>
#include <bit>
#include <random>

#include "MathTesting.h"

namespace smalti::cpu {
namespace {

constexpr double kUlps = 2.5;  // what docs/values.md promises

struct Case {
  const char* name;
  double (*exact)(double);
  std::vector<float> critical;  ///< a few hundred f32 on both sides of each are tried
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

/// Bits of every magnitude, both signs, with the neighbourhoods of the critical values.
std::vector<float> sample(const Case& c) {
  std::mt19937 random(7);
  std::vector<float> x(100000);
  for (float& v : x) v = std::bit_cast<float>(static_cast<uint32_t>(random()));
  std::uniform_real_distribution<float> usual(-20, 20), unit(-1.01f, 1.01f);
  for (int i = 0; i < 50000; ++i) {
    x.push_back(usual(random));
    x.push_back(unit(random));
  }
  for (const float at : c.critical)
    for (int i = -300; i <= 300; ++i)
      for (const float sign : {1.0f, -1.0f})
        x.push_back(sign * std::bit_cast<float>(std::bit_cast<uint32_t>(at) +
                                                static_cast<uint32_t>(std::max(i, at == 0 ? 0 : i))));
  return x;
}

class MathAccuracy : public testing::TestWithParam<Case> {};

TEST_P(MathAccuracy, WithinItsBound) {
  const Case& c = GetParam();
  const std::vector<float> x = sample(c), y = native(c.name, x);
  double worst = 0;
  float at = 0;
  for (size_t i = 0; i < x.size(); ++i)
    if (const double error = ulpError(y[i], c.exact(x[i])); error > worst) {
      worst = error;
      at = x[i];
    }
  EXPECT_LE(worst, kUlps) << "at " << std::hexfloat << at << ": " << native(c.name, at);
}

TEST_P(MathAccuracy, OneLaneAndManyAreTheSameBits) {
  const Case& c = GetParam();
  std::vector<float> x = sample(c);
  x.resize(20000);
  const std::vector<float> scalar = native(c.name, x, 0), vector = native(c.name, x, 16);
  const std::vector<float> odd = native(c.name, x, 5);
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(scalar[i]) && std::isnan(vector[i]) && std::isnan(odd[i])) continue;
    ASSERT_EQ(std::bit_cast<uint32_t>(scalar[i]), std::bit_cast<uint32_t>(vector[i])) << x[i];
    ASSERT_EQ(std::bit_cast<uint32_t>(scalar[i]), std::bit_cast<uint32_t>(odd[i])) << x[i];
  }
}

/// Functions that have tables where vectors are wide, and go another way elsewhere.
bool hasTable(std::string_view name) {
  return name == "math.erf" || name == "math.exp" || name == "math.exp2" || name == "math.tanh";
}

TEST_P(MathAccuracy, NarrowerVectorsGiveTheSameBits) {
  if (!hostProcessor().avx512) GTEST_SKIP() << "the host has no wider vectors than AVX2";
  const Case& c = GetParam();
  const auto haswell = processorNamed("haswell");
  ASSERT_TRUE(haswell) << haswell.error().str();
  const auto loop = compileLoop(nativeFunction(c.name), 1, 8, *haswell);
  ASSERT_TRUE(loop) << loop.error().str();
  std::vector<float> x = sample(c);
  x.resize(hasTable(c.name) ? x.size() / 8 * 8 : 20000);
  std::vector<float> narrow(x.size());
  loop->run(x.data(), x.data(), narrow.data(), static_cast<int64_t>(x.size()));
  if (hasTable(c.name)) {
    for (size_t i = 0; i < x.size(); ++i) ASSERT_LE(ulpError(narrow[i], c.exact(x[i])), kUlps) << x[i];
    return;
  }
  const std::vector<float> wide = native(c.name, x);
  for (size_t i = 0; i < x.size(); ++i)
    if (!std::isnan(wide[i]) || !std::isnan(narrow[i])) {
      ASSERT_EQ(std::bit_cast<uint32_t>(narrow[i]), std::bit_cast<uint32_t>(wide[i])) << x[i];
    }
}

const Case kCases[] = {
    {"math.acos", [](double x) { return std::acos(x); }, {0, 0.5f, 1}},
    {"math.acosh", [](double x) { return std::acosh(x); }, {1, 1.5f, 2, 1e18f, 3.4e38f}},
    {"math.asin", [](double x) { return std::asin(x); }, {0, 0.5f, 1}},
    {"math.asinh", [](double x) { return std::asinh(x); }, {0, 0x1p-10f, 1, 1e18f, 3.4e38f}},
    {"math.atan", [](double x) { return std::atan(x); }, {0, 1, 3.4e38f}},
    {"math.atanh", [](double x) { return std::atanh(x); }, {0, 0x1p-10f, 1}},
    {"math.cbrt", [](double x) { return std::cbrt(x); }, {0, 1, 8, 0x1p-126f, 3.4e38f}},
    {"math.cos",
     [](double x) { return std::cos(x); },
     {0, 0.785398f, 1.570796f, 3.141593f, 13430.3086f, 32768, 102944, 3.4e38f}},
    {"math.cosh", [](double x) { return std::cosh(x); }, {0, 1, 88.72f, 89.41599f}},
    {"math.erf", [](double x) { return std::erf(x); }, {0, 0.0625f, 0.1875f, 0.8125f, 0.93f, 1.9375f, 3.9f, 4}},
    {"math.erfc", [](double x) { return std::erfc(x); }, {0, 1, 9.19f, 10.05f, 10.1f}},
    {"math.exp",
     [](double x) { return std::exp(x); },
     {0, 0.010830f, 0.34657f, 86, 87.33f, 88.72283f, 88.8f, 103.97f, 105}},
    {"math.exp2", [](double x) { return std::exp2(x); }, {0, 0.015625f, 0.5f, 124, 126, 128, 149, 150, 151}},
    {"math.expm1", [](double x) { return std::expm1(x); }, {0, 0.34657f, 17, 30, 88.72283f, 88.8f}},
    {"math.log", [](double x) { return std::log(x); }, {0, 0x1p-126f, 0.70710678f, 1, 1.41421356f, 3.4e38f}},
    {"math.log10", [](double x) { return std::log10(x); }, {0, 0x1p-126f, 0.70710678f, 1, 10, 1e10f, 3.4e38f}},
    {"math.log1p", [](double x) { return std::log1p(x); }, {0, 0.29289f, 0.41421f, 1, 0x1p24f, 1e38f, 3.4e38f}},
    {"math.log2", [](double x) { return std::log2(x); }, {0, 0x1p-126f, 0.70710678f, 1, 2, 1024, 3.4e38f}},
    {"math.rsqrt", [](double x) { return 1 / std::sqrt(x); }, {0, 0x1p-126f, 1, 4, 3.4e38f}},
    {"math.sin",
     [](double x) { return std::sin(x); },
     {0, 0.785398f, 1.570796f, 3.141593f, 13430.3086f, 32768, 102944, 3.4e38f}},
    {"math.sinh", [](double x) { return std::sinh(x); }, {0, 1, 88.72f, 89.41599f}},
    {"math.tan",
     [](double x) { return std::tan(x); },
     {0, 0.785398f, 1.570796f, 3.141593f, 13430.3086f, 32768, 102944, 3.4e38f}},
    {"math.tanh",
     [](double x) { return std::tanh(x); },
     {0, 0.0625f, 0.375f, 0.55f, 1.375f, 1.625f, 3.375f, 7.375f, 8.375f, 9, 10}},
};

std::string caseName(const testing::TestParamInfo<Case>& info) { return std::string(info.param.name).substr(5); }

INSTANTIATE_TEST_SUITE_P(Functions, MathAccuracy, testing::ValuesIn(kCases), caseName);

TEST(MathAccuracy, SoftmaxOfRows) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 1);
  double worst = 0;
  for (int row = 0; row < 64; ++row) {
    std::vector<float> x(1024);
    for (float& v : x) v = normal(random);
    const float largest = *std::max_element(x.begin(), x.end());
    double exactSum = 0;
    std::vector<float> shifted = x;
    for (float& v : shifted) v -= largest;
    for (const float v : x) exactSum += std::exp(double{v} - largest);
    const std::vector<float> e = native("math.exp", shifted);
    float sums[16] = {}, sum = 0;  // as a vector adds them
    for (size_t i = 0; i < e.size(); ++i) sums[i % 16] += e[i];
    for (const float s : sums) sum += s;
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = std::exp(double{x[i]} - largest) / exactSum;
      worst = std::max(worst, std::fabs(e[i] / sum - exact) / exact);
    }
  }
  EXPECT_LE(worst, 1.2e-6);
}

TEST(MathAccuracy, ErfInvIsUndoneByErf) {
  for (int i = -999; i <= 999; ++i) {
    const float x = static_cast<float>(i) / 1000, y = native("chlo.erf_inv", x);
    // d erf(y) of one ulp of y
    const double slope = 2 / std::sqrt(std::acos(-1.0)) * std::exp(-double{y} * y);
    const double ulp = std::ldexp(1.0, (y == 0 ? -126 : std::ilogb(y)) - 23);
    EXPECT_LE(std::fabs(std::erf(double{y}) - x), slope * ulp) << x;
  }
}

}  // namespace
}  // namespace smalti::cpu
