// Kernels whose gradients are checked: by differences of what they compute in f64, and against JAX's gradient of the
// function of the same name in test/python/gradient_oracles.py.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "smalti/smalti.h"

namespace smalti::gradients {

using Arrays = std::vector<Array>;

struct Case {
  std::string name;
  std::string features;  ///< of "scratch prefetch revisited copies library"
  Arrays inputs;
  std::function<Arrays(const Arrays&)> run;
  /// Of the inputs that are floats, those whose derivative is asked for; empty: all.
  std::vector<size_t> wrt{};
};

/// Normal numbers with eight bits behind the point, so that small steps from them are exact in f32.
Array numbers(Shape shape, int seed, float scale = 1);
Array whole(std::vector<int32_t> values);
/// The results of a call.
Arrays all(const Results& results, size_t count = 1);

/// A block for each pair of grid indices, in the order of the grid.
inline BlockSpec block(int64_t rows, int64_t columns) {
  return {{rows, columns}, [](auto i, auto j) { return std::tuple{i, j}; }};
}
/// A block of rows for each index.
inline BlockSpec rows(int64_t count, int64_t columns) {
  return {{count, columns}, [](auto i) { return std::tuple{i, 0}; }};
}
/// The same block at every step.
inline BlockSpec same(int64_t count, int64_t columns) {
  return {{count, columns}, [](auto) { return std::tuple{0, 0}; }};
}

std::vector<Case> blockCases();
std::vector<Case> accumulatorCases();
std::vector<Case> prefetchCases();
std::vector<Case> copyCases();
std::vector<Case> libraryCases();

}  // namespace smalti::gradients
