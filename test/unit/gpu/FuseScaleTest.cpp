// Scores that are scaled and compared with their maximum by one multiply-add.
#include "gpu/plan/FuseScale.h"

#include <random>

#include <gtest/gtest.h>

#include "../cpu/native/SmallProducts.h"
#include "gpu/host/HostKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::gpu {
namespace {

using namespace machine::testing;

constexpr int64_t kRowsOfScores = 16, kKeys = 128;
constexpr float kInfinite = std::numeric_limits<float>::infinity(),
                kNotANumber = std::numeric_limits<float>::quiet_NaN();

struct Variation {
  double scale = 0.180337;
  bool hasEarlier = true;  ///< maxima of earlier steps
  std::string also = "";   ///< a line that uses %s, the scaled scores
  std::string reduces = "[1]";
  std::string none = "0xFF800000";
};

/// 2^(s - m) and m, for scores s = scale · a b and m the maximum of their row and an earlier one.
TextKernel weights(const Variation& v) {
  TextKernel k;
  const Val a = k.load(k.input({.array = {kRowsOfScores, 1}})), b = k.load(k.input({.array = {1, kKeys}})),
            earlier = k.load(k.input({.array = {kRowsOfScores, 1}})), p = k.output({.array = {kRowsOfScores, kKeys}}),
            m = k.output({.array = {kRowsOfScores, 1}});
  const Val x = cpu::testing::multiplied(k, a, b, false, k.splat(k.f32(0), {kRowsOfScores, kKeys}));
  const Val scale = k.splat(k.f32(v.scale), {kRowsOfScores, kKeys});
  k.raw("%s = arith.mulf " + x.name + ", " + scale.name + " : vector<16x128xf32>");
  if (!v.also.empty()) k.raw(v.also);
  const std::string length = v.reduces == "[1]" ? "16" : "128", column = v.reduces == "[1]" ? "16x1" : "1x128";
  k.raw("%none = arith.constant dense<" + v.none + "> : vector<" + length + "xf32>");
  k.raw("%r = vector.multi_reduction <maximumf>, %s, %none " + v.reduces + " : vector<16x128xf32> to vector<" + length +
        "xf32>");
  k.raw("%c = vector.shape_cast %r : vector<" + length + "xf32> to vector<" + column + "xf32>");
  const Val maxima{v.hasEarlier ? "%m" : "%c", "vector<16x1xf32>"};
  if (v.hasEarlier) k.raw("%m = arith.maximumf " + earlier.name + ", %c : vector<16x1xf32>");
  k.raw("%repeated = vector.broadcast " + maxima.name + " : vector<" + column + "xf32> to vector<16x128xf32>");
  k.raw("%e = arith.subf %s, %repeated : vector<16x128xf32>");
  k.raw("%p = math.exp2 %e : vector<16x128xf32>");
  k.store({"%p", "vector<16x128xf32>"}, p);
  if (v.reduces == "[1]") k.store(maxima, m);
  return k;
}

bool isFused(const Variation& v) { return fuseScale(weights(v).package()).has_value(); }

TEST(FuseScale, TakesMaximaAndDifferencesOfScaledProducts) {
  EXPECT_TRUE(isFused({}));
  EXPECT_TRUE(isFused({.hasEarlier = false}));
  EXPECT_TRUE(isFused({.scale = 1}));
}

TEST(FuseScale, OtherScoresStay) {
  EXPECT_FALSE(isFused({.scale = 1.5})) << "a huge maximum could overflow";
  EXPECT_FALSE(isFused({.scale = -0.5})) << "the largest score is the smallest product";
  EXPECT_FALSE(isFused({.scale = 0}));
  EXPECT_FALSE(isFused({.also = "%other = math.exp %s : vector<16x128xf32>"})) << "the scores are needed";
  EXPECT_FALSE(isFused({.hasEarlier = false, .reduces = "[0]"})) << "maxima of columns";
  EXPECT_FALSE(isFused({.none = "0.0"})) << "the maximum is at least 0";
}

/// Huge, infinite and NaN scores as well: the weights are those of the exact differences from the rounded maxima, and
/// where rounding the scores decides, those of the largest score.
TEST(FuseScale, WeightsAreThoseOfTheExactDifferences) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  for (const Variation& v :
       {Variation{}, Variation{.scale = 0.125}, Variation{.scale = 1}, Variation{.scale = 0.088388}}) {
    const auto code = compileForHost(weights(v).package(), {});
    ASSERT_TRUE(code) << code.error().str();
    for (const float special : {0.0f, 1.0f, kInfinite, -kInfinite, kNotANumber}) {
      constexpr float kRows[kRowsOfScores] = {1,     0.01f,  30,    -1000,  1e5f,  1e8f, -1e9f, 3e9f,
                                              1e12f, -1e15f, 1e20f, -1e30f, 1e37f, 0,    7e9f,  -7e9f};
      const Array a = f32Array({kRowsOfScores, 1}, [&](int64_t i) { return kRows[i]; }),
                  b = f32Array({1, kKeys}, [&](int64_t i) { return i == 5 ? special : normal(random); });
      const std::vector<float> columns = floats(b);
      const auto x = [&](int64_t i, int64_t j) { return kRows[i] * columns[static_cast<size_t>(j)]; };
      const auto scaled = [&](int64_t i, int64_t j) { return x(i, j) * static_cast<float>(v.scale); };
      // Less than, equal to, and more than the maximum of the row.
      const Array earlier = f32Array({kRowsOfScores, 1}, [&](int64_t i) {
        return i % 4 == 0 ? -3.4e38f : i % 4 == 1 ? scaled(i, 3) : i % 4 == 2 ? std::abs(scaled(i, 7)) * 4 : -kInfinite;
      });
      const auto got = (*code)->call(std::vector{a, b, earlier}, {});
      ASSERT_TRUE(got) << got.error().str();
      const std::vector<float> p = floats(got->results[0]), m = floats(got->results[1]);
      for (int64_t i = 0; i < kRowsOfScores; ++i) {
        float maximum = floats(earlier)[i];
        bool isNan = false;
        for (int64_t j = 0; j < kKeys; ++j) {
          isNan |= std::isnan(scaled(i, j));
          maximum = std::max(maximum, scaled(i, j));
        }
        if (isNan) maximum = kNotANumber;
        EXPECT_TRUE(m[i] == maximum || (isNan && std::isnan(m[i]))) << m[i] << " instead of " << maximum;
        for (int64_t j = 0; j < kKeys; ++j) {
          const double difference = static_cast<double>(x(i, j)) * static_cast<float>(v.scale) - maximum,
                       rounded = static_cast<double>(scaled(i, j)) - maximum;
          const float weight = p[i * kKeys + j];
          const auto where = ::testing::Message()
                             << "row " << i << ", key " << j << ": 2^" << difference << " gave " << weight;
          if (std::isnan(rounded)) {
            EXPECT_TRUE(std::isnan(weight)) << where;
          } else if (std::abs(maximum) >= 0x1p30f) {
            const bool isLargest = rounded == 0;
            bool isUnique = true;
            for (int64_t other = 0; other < kKeys; ++other)
              isUnique &= !(scaled(i, other) == maximum && x(i, other) > x(i, j));
            EXPECT_NEAR(weight, isLargest && isUnique ? 1 : 0, 0x1p-60) << where;
          } else {
            EXPECT_NEAR(weight, std::exp2(difference),
                        0x1p-21 * std::exp2(difference) * (1 + std::min(std::abs(difference), 200.0)) + 1e-44)
                << where;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace smalti::gpu
