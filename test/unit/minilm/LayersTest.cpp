#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "Layers.h"
#include "smalti/smalti.h"

namespace smalti::minilm {
namespace {

Array waves(Shape shape, float step) {
  Array a = zeros(shape);
  for (int64_t i = 0; i < a.elements(); ++i) a.as<float>()[i] = std::sin(step * static_cast<float>(i));
  return a;
}

TEST(MiniLmLayers, ProjectionAndNormInOneKernelAreTheStepsOneByOne) {
  constexpr int64_t tokens = 24, inputs = 16, width = 12;
  constexpr double epsilon = 1e-3;
  const Linear l{waves({inputs, width}, .7f), waves({width}, 1.1f)};
  const Norm n{waves({width}, .4f), waves({width}, .9f)};
  const Array x = waves({tokens, inputs}, .3f), residual = waves({tokens, width}, .2f);
  for (const char* target : {"interpret", "cpu"}) {
    Settings s;
    unwrap(s.set("target", target));
    use_settings(s);
    const Array together = linearAddNorm(x, l, residual, n, epsilon);
    const Array oneByOne = norm(linear(x, l) + residual, n, epsilon);
    use_settings(Settings());
    for (int64_t row = 0; row < tokens; ++row) {
      std::vector<double> sums(width);
      for (int64_t c = 0; c < width; ++c) {
        double& sum = sums[static_cast<size_t>(c)];
        sum = l.bias.as<float>()[c] + residual.as<float>()[row * width + c];
        for (int64_t i = 0; i < inputs; ++i)
          sum += double{x.as<float>()[row * inputs + i]} * l.weight.as<float>()[i * width + c];
      }
      const double mean = std::accumulate(sums.begin(), sums.end(), 0.0) / width;
      double variance = 0;
      for (double sum : sums) variance += (sum - mean) * (sum - mean) / width;
      for (int64_t c = 0; c < width; ++c) {
        const double wanted =
            (sums[static_cast<size_t>(c)] - mean) / std::sqrt(variance + epsilon) * n.scale.as<float>()[c] +
            n.shift.as<float>()[c];
        EXPECT_NEAR(together.as<float>()[row * width + c], wanted, 1e-5) << target << row << ' ' << c;
        EXPECT_NEAR(oneByOne.as<float>()[row * width + c], wanted, 1e-5) << target << row << ' ' << c;
      }
    }
  }
}

/// Heads that go together four by four, and heads that do not; tokens of two texts, and a row's end without one.
TEST(MiniLmLayers, TokensAttendToThoseOfTheirText) {
  for (const auto& [heads, size] : {std::pair<int64_t, int64_t>{8, 32}, {3, 4}}) {
    const int64_t rows = 2, tokens = 24, width = heads * size;
    const Array qkv = waves({rows * tokens, 3 * width}, .37f);
    std::vector<int32_t> segments(rows * tokens);
    for (int64_t i = 0; i < rows * tokens; ++i) segments[static_cast<size_t>(i)] = i % tokens < 9 ? 1 : i < 40 ? 2 : 0;
    for (const char* target : {"interpret", "cpu"}) {
      Settings s;
      unwrap(s.set("target", target));
      use_settings(s);
      const Array mixed = attend(qkv, array(segments, {rows, tokens}), heads);
      use_settings(Settings());
      for (int64_t i = 0; i < rows * tokens; ++i)
        for (int64_t c = 0; c < width; ++c) {
          const auto at = [&](int64_t token, int64_t part, int64_t column) {
            return double{qkv.as<float>()[token * 3 * width + part * width + column]};
          };
          double total = 0, sum = 0;
          for (int64_t j = i / tokens * tokens; j < (i / tokens + 1) * tokens; ++j) {
            if (segments[static_cast<size_t>(i)] != segments[static_cast<size_t>(j)]) continue;
            double score = 0;
            for (int64_t d = c / size * size; d < (c / size + 1) * size; ++d) score += at(i, 0, d) * at(j, 1, d);
            const double weight = std::exp(score / std::sqrt(static_cast<double>(size)));
            total += weight;
            sum += weight * at(j, 2, c);
          }
          ASSERT_NEAR(mixed.as<float>()[i * width + c], sum / total, 1e-5) << target << i << ' ' << c;
        }
    }
  }
}

}  // namespace
}  // namespace smalti::minilm
