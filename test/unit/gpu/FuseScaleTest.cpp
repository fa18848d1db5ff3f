// Scores that are scaled and compared with their maximum by one multiply-add.
#include "gpu/plan/FuseScale.h"

#include <random>

#include <gtest/gtest.h>

#include "../cpu/SpecialFloats.h"
#include "../cpu/native/SmallProducts.h"
#include "gpu/host/HostKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::gpu {
namespace {

using namespace machine::testing;

constexpr int64_t kRowsOfScores = 16, kKeys = 128;
using cpu::kInf, cpu::kNan;

struct Variation {
  double scale = 0.180337;
  bool hasEarlier = true;  ///< maxima of earlier steps
  std::string also = "";   ///< a line that uses %s, the scaled scores
  std::string reduces = "[1]";
  std::string none = "0xFF800000";
  std::string floor = "-200.0";
};

/// Weights 2^(s - m) rounded to bf16, their sums, and m, for scores s = scale · a b and m the maximum of their row and
/// an earlier one.
TextKernel weights(const Variation& v) {
  TextKernel k;
  const Val a = k.load(k.input({.array = {kRowsOfScores, 1}})), b = k.load(k.input({.array = {1, kKeys}})),
            earlier = k.load(k.input({.array = {kRowsOfScores, 1}})), p = k.output({.array = {kRowsOfScores, kKeys}}),
            sums = k.output({.array = {kRowsOfScores, 1}}), m = k.output({.array = {kRowsOfScores, 1}});
  const Val x = cpu::testing::multiplied(k, a, b, false, k.splat(k.f32(0), {kRowsOfScores, kKeys}));
  const Val scale = k.splat(k.f32(v.scale), {kRowsOfScores, kKeys});
  const std::string wide = "vector<16x128xf32>", narrow = "vector<16x128xbf16>";
  k.raw("%s = arith.mulf " + x.name + ", " + scale.name + " : " + wide);
  const std::string length = v.reduces == "[1]" ? "16" : "128", column = v.reduces == "[1]" ? "16x1" : "1x128";
  k.raw("%none = arith.constant dense<" + v.none + "> : vector<" + length + "xf32>");
  k.raw("%r = vector.multi_reduction <maximumf>, %s, %none " + v.reduces + " : " + wide + " to vector<" + length +
        "xf32>");
  k.raw("%c = vector.shape_cast %r : vector<" + length + "xf32> to vector<" + column + "xf32>");
  const Val maxima{v.hasEarlier ? "%m" : "%c", "vector<16x1xf32>"};
  if (v.hasEarlier) k.raw("%m = arith.maximumf " + earlier.name + ", %c : vector<16x1xf32>");
  k.raw("%repeated = vector.broadcast " + maxima.name + " : vector<" + column + "xf32> to " + wide);
  k.raw("%d = arith.subf %s, %repeated : " + wide);
  k.raw("%bound = arith.constant dense<" + v.floor + "> : " + wide);
  k.raw("%less = arith.cmpf olt, %d, %bound : " + wide);
  k.raw("%e = arith.select %less, %bound, %d : vector<16x128xi1>, " + wide);
  k.raw("%p = math.exp2 %e : " + wide);
  if (!v.also.empty()) k.raw(v.also);
  k.raw("%n = arith.truncf %p : " + wide + " to " + narrow);
  k.raw("%rounded = arith.extf %n : " + narrow + " to " + wide);
  k.raw("%zero = arith.constant dense<0.0> : vector<16xf32>");
  k.raw("%l = vector.multi_reduction <add>, %p, %zero [1] : " + wide + " to vector<16xf32>");
  k.raw("%sum = vector.shape_cast %l : vector<16xf32> to vector<16x1xf32>");
  k.store({"%rounded", wide}, p);
  k.store({"%sum", "vector<16x1xf32>"}, sums);
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
  EXPECT_FALSE(isFused({.floor = "-1.0"})) << "weights that are not negligible do not depend on the maximum";
  EXPECT_FALSE(isFused({.also = "%top = arith.cmpf oge, %d, %d : vector<16x128xf32>"})) << "the differences are needed";
  EXPECT_FALSE(isFused({.also = "%other = arith.select %less, %s, %p : vector<16x128xi1>, vector<16x128xf32>"}))
      << "the scores are needed where differences are small";
  EXPECT_FALSE(
      isFused({.also = "%other = arith.select %less, %repeated, %bound : vector<16x128xi1>, vector<16x128xf32>"}))
      << "whether differences are small is needed";
  EXPECT_FALSE(isFused({.also = "%other = arith.addf %p, %p : vector<16x128xf32>"})) << "the weights are needed";
  EXPECT_FALSE(isFused({.also = "%other = arith.truncf %p : vector<16x128xf32> to vector<16x128xf16>"}))
      << "may overflow";
  EXPECT_FALSE(
      isFused({.also = "%k = arith.constant dense<0.0> : vector<128xf32>\n%other = vector.multi_reduction <add>, %p, "
                       "%k [0] : vector<16x128xf32> to vector<128xf32>"}))
      << "weights of several rows are summed";
}

/// Huge, infinite and NaN scores as well: weights divided by their sum are those of the exact scores. Where
/// neighbouring scores differ by 64 or more, the largest one has all the weight.
TEST(FuseScale, QuotientsAreThoseOfTheExactScores) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  for (const Variation& v :
       {Variation{}, Variation{.scale = 0.125}, Variation{.scale = 1}, Variation{.scale = 0.088388}}) {
    const auto code = compileForHost(weights(v).package(), {});
    ASSERT_TRUE(code) << code.error().str();
    for (const float special : {0.0f, 1.0f, kInf, -kInf, kNan}) {
      constexpr float kRows[kRowsOfScores] = {1,     0.01f,  30,    -1000,  1e5f,  1e8f, -1e9f, 3e9f,
                                              1e12f, -1e15f, 1e20f, -1e30f, 1e37f, 0,    7e9f,  -7e9f};
      const Array a = f32Array({kRowsOfScores, 1}, [&](int64_t i) { return kRows[i]; }),
                  b = f32Array({1, kKeys}, [&](int64_t i) { return i == 5 ? special : normal(random); });
      const std::vector<float> columns = floats(b);
      const auto x = [&](int64_t i, int64_t j) { return kRows[i] * columns[static_cast<size_t>(j)]; };
      const auto scaled = [&](int64_t i, int64_t j) { return x(i, j) * static_cast<float>(v.scale); };
      // Less than, equal to, and more than the maximum of the row.
      const Array earlier = f32Array({kRowsOfScores, 1}, [&](int64_t i) {
        return i % 4 == 0 ? -3.4e38f : i % 4 == 1 ? scaled(i, 3) : i % 4 == 2 ? std::abs(scaled(i, 7)) * 4 : -kInf;
      });
      const auto got = (*code)->call(std::vector{a, b, earlier}, {});
      ASSERT_TRUE(got) << got.error().str();
      const std::vector<float> p = floats(got->results[0]), sums = floats(got->results[1]), m = floats(got->results[2]);
      for (int64_t i = 0; i < kRowsOfScores; ++i) {
        float maximum = floats(earlier)[static_cast<size_t>(i)], own = -kInf;
        bool isNan = false;
        double largest = -kInf;
        for (int64_t j = 0; j < kKeys; ++j) {
          isNan |= std::isnan(scaled(i, j));
          own = std::max(own, scaled(i, j));
          largest = std::max(largest, static_cast<double>(x(i, j)) * static_cast<float>(v.scale));
        }
        maximum = isNan ? kNan : std::max(maximum, own);
        const float sum = sums[static_cast<size_t>(i)], found = m[static_cast<size_t>(i)];
        EXPECT_TRUE(found == maximum || (isNan && std::isnan(found))) << found << " instead of " << maximum;
        if (isNan || std::isinf(maximum)) {
          EXPECT_TRUE(std::isnan(sum)) << "as infinite differences are, row " << i;
          continue;
        }
        if (maximum - own > 100) {
          EXPECT_LT(sum, 1e-20) << "nothing beside the earlier maximum, row " << i;
          continue;
        }
        double total = 0;
        for (int64_t j = 0; j < kKeys; ++j)
          total += std::exp2(static_cast<double>(x(i, j)) * static_cast<float>(v.scale) - largest);
        for (int64_t j = 0; j < kKeys; ++j) {
          const double exact = std::exp2(static_cast<double>(x(i, j)) * static_cast<float>(v.scale) - largest) / total;
          EXPECT_NEAR(p[static_cast<size_t>(i * kKeys + j)] / sum, exact, 0x1p-8 * exact + 1e-6)
              << "row " << i << ", key " << j << ", maximum " << maximum;
        }
      }
    }
  }
}

}  // namespace
}  // namespace smalti::gpu
