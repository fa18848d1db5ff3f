// exp and exp2 with a tolerance: how far results are from the exact ones, and special values.
#include <random>

#include "../SpecialFloats.h"
#include "MathTesting.h"

namespace smalti::cpu {
namespace {

constexpr Tolerance kRounded{.atol = 0x1p-124, .rtol = 0x1p-17}, kWeights{.atol = 0x1p-100};

std::vector<float> approximate(const std::string& name, Tolerance allowed, const std::vector<float>& x, int lanes) {
  const auto function = [&](llvm::IRBuilderBase& code, std::span<llvm::Value* const> operands) {
    return emitMath(code, name, operands, allowed);
  };
  std::vector<float> y(x.size());
  auto loop = compileLoop(function, 1, lanes);
  if (!loop)
    ADD_FAILURE() << loop.error().str();
  else
    loop->run(x.data(), x.data(), y.data(), static_cast<int64_t>(x.size()));
  return y;
}

/// Multiples of 16 elements.
std::vector<float> manyArguments() {
  std::vector<float> x;
  for (float at = -160; at < 136; at += 0x1p-10f) x.push_back(at);
  std::mt19937 random(5);
  std::normal_distribution<float> near(0, 4);
  while (x.size() % 16 != 0 || x.size() < 400'000) x.push_back(near(random));
  return x;
}

TEST(Approximate, ResultsAreWithinTheTolerance) {
  const std::vector<float> x = manyArguments();
  for (const bool isPower : {false, true})
    for (const Tolerance allowed : {kRounded, kWeights, Tolerance{.atol = 0x1p-60, .rtol = 0x1p-9}, Tolerance{}})
      for (const int lanes : {0, 8, 16}) {
        const std::vector<float> y = approximate(isPower ? "math.exp2" : "math.exp", allowed, x, lanes);
        for (size_t i = 0; i < x.size(); ++i) {
          const double exact = isPower ? std::exp2(static_cast<double>(x[i])) : std::exp(static_cast<double>(x[i]));
          // Results are at best as exact as without a tolerance: 2.5 ulp, where denormals have larger ones.
          const double error = allowed.atol + std::max(allowed.rtol, 2.5 * 0x1p-23) * exact + 2.5 * 0x1p-149;
          if (exact > std::numeric_limits<float>::max() * (1 - allowed.rtol)) continue;
          ASSERT_LE(std::abs(y[i] - exact), error) << (isPower ? "exp2(" : "exp(") << x[i] << "), lanes " << lanes;
        }
      }
}

TEST(Approximate, SpecialValuesAreExact) {
  const std::vector<float> x{kInf, -kInf, kNan, 0.0f,   -0.0f,   3e38f, -3e38f, 129,
                             1000, -1000, -200, 1e-40f, -1e-40f, 0,     0,      0};
  for (const std::string name : {"math.exp", "math.exp2"})
    for (const int lanes : {0, 8, 16}) {
      const std::vector<float> y = approximate(name, kRounded, x, lanes);
      const std::vector<float> expected{kInf, 0, kNan, 1, 1, kInf, 0, kInf, kInf, 0, 0, 1, 1, 1, 1, 1};
      for (size_t i = 0; i < x.size(); ++i)
        if (std::isnan(expected[i]))
          EXPECT_TRUE(std::isnan(y[i])) << name;
        else
          EXPECT_EQ(y[i], expected[i]) << name << " of " << x[i] << ", lanes " << lanes;
    }
}

}  // namespace
}  // namespace smalti::cpu
