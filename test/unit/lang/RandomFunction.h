// Functions of arrays made by chance: loops, branches and what they carry, in each other. The same seed makes the same
// function wherever it runs: at once, recorded, or inside a kernel.
#pragma once

#include <random>

#include "smalti/smalti.h"

namespace smalti::testing {

class RandomFunction {
 public:
  RandomFunction(unsigned seed, int ops) : seed_(seed), ops_(ops) {}

  /// Gives one array of the type of x, f32[8,128].
  Array operator()(const Array& x) const { return body(seed_, ops_, {x, x * 0.5f}, Operand(2).array(), 0); }

 private:
  using Arrays = std::vector<Array>;
  static const Shape& tile() {
    static const Shape shape{8, 128};
    return shape;
  }

  /// The sum of what was made of `known`. Its random numbers are its own, however often it runs.
  static Array body(unsigned seed, int ops, Arrays known, const Array& n, int depth) {
    std::mt19937 random(seed);
    const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
    const auto pick = [&]() -> Array { return known[below(static_cast<int>(known.size()))]; };
    for (int i = 0; i < ops; ++i) {
      const unsigned inner = random();
      const Array a = pick(), b = pick();
      const Array step = clip(one(below(depth < 2 ? 12 : 9), a, b, n, inner, ops / 2, depth), -100, 100);
      known.push_back(step);
    }
    return known.back() + known[known.size() / 2];
  }

  static Array one(int kind, const Array& a, const Array& b, const Array& n, unsigned inner, int ops, int depth) {
    switch (kind) {
      case 0:
        return a + b;
      case 1:
        return a * 0.5f - b;
      case 2:
        return where(a > b, a, b * 2);
      case 3:
        return sin(a) + maximum(b, 0);
      case 4:
        return broadcast_to(sum(a, {.axes = {1}, .keepdims = true}), tile()) * 0.01f;
      case 5:
        return astype(broadcasted_iota(i32, tile(), 1) + n, f32);
      case 6:
        return concatenate({slice(a, {0, 0}, {4, 128}), slice(b, {4, 0}, {8, 128})}, 0);
      case 7:
        return broadcast_to(max(b, {.axes = {0}, .keepdims = true}), tile());
      case 8:
        return a + astype(n, f32);
      case 9:
        return fori_loop(
            0, n % 3 + 1, [&](auto i, const Array& c) { return body(inner, ops, {c, b}, i, depth + 1); }, a);
      case 10:
        return cond(
            n > 1, [&] { return body(inner, ops, {a, b}, n, depth + 1); },
            [&] { return body(inner + 1, ops, {b}, n, depth + 1); });
      default: {
        const auto [last, count] = while_loop([](const auto& c) { return std::get<1>(c) < 3; },
                                              [&](const auto& c) {
                                                const auto& [x, k] = c;
                                                return std::tuple{body(inner, ops, {x, b}, k, depth + 1), k + 1};
                                              },
                                              std::tuple{a, n * 0});
        return last + astype(count, f32);
      }
    }
  }

  unsigned seed_;
  int ops_;
};

}  // namespace smalti::testing
