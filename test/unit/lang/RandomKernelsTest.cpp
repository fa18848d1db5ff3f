// Kernels made by chance: loops, branches and scopes in each other, values that cross their borders, memory that is
// written between. Both targets compute the same.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "../LongTest.h"
#include "Helpers.h"

namespace pl = smalti;
using pl::_, pl::Array;

namespace {

const pl::Shape kTile{8, 128};

class Maker {
 public:
  Maker(unsigned seed, int ops, pl::Ref in, pl::Ref out, pl::Ref scratch)
      : random_(seed), ops_(ops), in_(in), out_(out), memory_{scratch} {
    vectors_ = {in[_].value(), pl::zeros(kTile)};
    scalars_ = {pl::program_id(0)};
  }

  void make() {
    out_[_] = in_[_];
    memory_[0][_] = in_[_] * 0.25f;
    while (ops_ > 0) block(0);
    out_[_] += vector() + vectors_.back() + memory_[0][_].value();
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  template <class T>
  T& pick(std::vector<T>& from) {
    const int n = static_cast<int>(from.size());
    return from[static_cast<size_t>(n > 4 && below(3) == 0 ? n - 1 - below(3) : below(n))];
  }
  Array vector() { return pick(vectors_); }
  Array scalar() { return pick(scalars_); }
  pl::Ref memory() { return pick(memory_); }
  void add(const Array& x) { vectors_.push_back(pl::clip(x, -1000, 1000)); }

  void op() {
    --ops_;
    switch (below(22)) {
      case 0:
        return add(vector() + vector());
      case 1:
        return add(vector() * 0.5f - vector());
      case 2:
        return add(pl::maximum(vector(), vector()));
      case 3:
        return add(pl::where(vector() > vector(), vector(), vector()));
      case 4:
        return add(pl::roll(vector(), below(8), below(2)));
      case 5:
        return add(pl::broadcast_to(pl::max(vector(), {.axes = {below(2)}, .keepdims = true}), kTile));
      case 6:
        return add(pl::astype(pl::broadcasted_iota(pl::i32, kTile, below(2)) + scalar(), pl::f32));
      case 7:
        return add(vector() + pl::astype(scalar(), pl::f32));
      case 8:
        memory()[_] = vector();
        return;
      case 9:
        return vectors_.push_back(memory()[_].value());
      case 10:
        return add(pl::broadcast_to(in_[pl::ds(scalar() % 8, 1)].value(), kTile));
      case 11:
        return add(pl::where(pl::astype(vector(), pl::i32) > scalar(), vector(), 1.5f));
      case 12:
        out_[pl::ds(scalar() % 8, 1)] = pl::slice(vector(), {0, 0}, {1, 128});
        return;
      case 13:
        return add(pl::abs(pl::broadcast_to(pl::slice(vector(), {3, 0}, {4, 128}), kTile)));
      case 14:
        return add(pl::astype(pl::astype(pl::round(vector()), pl::bf16), pl::f32));
      case 15:
        memory()[_] += pl::round(vector());
        return;
      case 16:
        pl::store(memory(), vector(), vector() > 0.5f);
        return;
      case 17:
        return scalars_.push_back(pl::astype(pl::max(vector()), pl::i32) % 5 + scalar() % 3);
      case 18:
        masks_.push_back(vector() > vector());
        return;
      case 19:
        return masks_.empty() ? add(-vector()) : add(pl::where(pick(masks_), vector(), vector()));
      case 20:
        if (!masks_.empty()) masks_.push_back(pick(masks_) ^ (vector() < 2.0f));
        return;
      default:
        return add(pl::concatenate({pl::slice(vector(), {4, 0}, {8, 128}), pl::slice(vector(), {0, 0}, {4, 128})}, 0));
    }
  }

  void block(int depth) {
    for (int n = 2 + below(5); n > 0 && ops_ > 0; --n) depth < 3 && below(4) == 0 ? control(depth) : op();
  }
  /// A block of its own: what is made in it is not seen outside.
  template <class F>
  auto inside(const F& body) {
    const auto vectors = vectors_, scalars = scalars_, masks = masks_;
    const auto memory = memory_;
    const auto results = body();
    vectors_ = vectors, scalars_ = scalars, masks_ = masks, memory_ = memory;
    return results;
  }
  std::vector<Array> some(size_t n) {
    std::vector<Array> chosen;
    while (chosen.size() < n) chosen.push_back(vector());
    return chosen;
  }
  std::vector<Array> iteration(int depth, const Array& i, std::vector<Array> carry) {
    return inside([&] {
      scalars_.push_back(i);
      vectors_.insert(vectors_.end(), carry.begin(), carry.end());
      block(depth + 1);
      auto next = some(carry.size());
      if (carry.size() > 1 && below(3) == 0) next[0] = carry[1], next[1] = carry[0];
      return next;
    });
  }
  void nested(int depth) {
    inside([&] { return block(depth + 1), 0; });
  }

  void control(int depth) {
    switch (below(7)) {
      case 0:
      case 1: {
        const Array steps = below(2) ? scalar() % 4 : pl::full({}, 1 + below(4), pl::i32);
        for (const Array& a : pl::fori_loop(
                 0, steps, [&](auto i, const std::vector<Array>& carry) { return iteration(depth, i, carry); },
                 some(1 + static_cast<size_t>(below(3)))))
          vectors_.push_back(a);
        return;
      }
      case 2:
        return pl::loop(0, 1 + below(4),
                        [&](auto i) { inside([&] { return scalars_.push_back(i), block(depth + 1), 0; }); });
      case 3:
        return pl::when(scalar() > below(3), [&] { nested(depth); });
      case 4: {
        const auto branch = [&] {
          return inside([&] {
            block(depth + 1);
            return std::vector<Array>{vector(), below(3) ? vector() : memory()[_].value()};
          });
        };
        for (const Array& a : pl::cond(scalar() % 2 == 0, branch, branch)) vectors_.push_back(a);
        return;
      }
      case 5: {
        const int limit = below(4);
        const auto [n, a] = pl::while_loop([&](const auto& carry) { return std::get<0>(carry) < limit; },
                                           [&](const auto& carry) {
                                             const auto& [n, a] = carry;
                                             return std::tuple{n + 1, iteration(depth, n, {a})[0]};
                                           },
                                           std::tuple{scalar() % 3, vector()});
        scalars_.push_back(n);
        vectors_.push_back(a);
        return;
      }
      default:
        return pl::run_scoped(
            [&](pl::Ref buffer) {
              buffer[_] = vector();
              inside([&] { return memory_.push_back(buffer), block(depth + 1), 0; });
            },
            pl::vmem(kTile, pl::f32));
    }
  }

  std::mt19937 random_;
  int ops_;
  pl::Ref in_, out_;
  std::vector<pl::Ref> memory_;
  std::vector<Array> vectors_, scalars_, masks_;  ///< f32 and pred of kTile, i32
};

TEST(RandomKernels, ComputeTheSameOnBothTargets) {
  SMALTI_LONG_TEST();
  std::vector<float> numbers(1024);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(static_cast<int>(i * 733 % 2001) - 1000) / 64;
  const Array x = pl::array(numbers, kTile);
  const auto parameter = [](const char* name, int otherwise) {
    const char* text = std::getenv(name);
    return text ? std::atoi(text) : otherwise;
  };
  const int first = parameter("SMALTI_FIRST_SEED", 1), count = parameter("SMALTI_SEEDS", 40);
  for (int seed = first; seed < first + count; ++seed) {
    const auto call = pl::pallas_call(
        [&](pl::Ref in, pl::Ref out, pl::Ref scratch) {
          Maker(static_cast<unsigned>(seed), 10 + seed % 4 * 10, in, out, scratch).make();
        },
        {.out_shape = pl::ShapeDtype{{24, 128}, pl::f32},
         .grid = {3},
         .in_specs = {pl::BlockSpec{{8, 128}, [](auto) { return std::tuple{0, 0}; }}},
         .out_specs = {pl::BlockSpec{{8, 128}, [](auto i) { return std::tuple{i, 0}; }}},
         .scratch_shapes = {pl::vmem(kTile, pl::f32)}});
    std::vector<Array> results;
    for (const char* target : {"interpret", "cpu"}) {
      pl::Settings settings;
      ASSERT_TRUE(settings.set("target", target));
      pl::use_settings(settings);
      results.push_back(call(x));
      pl::use_settings(pl::Settings());
    }
    for (int64_t i = 0; i < results[0].elements(); ++i)
      if (results[0].as<float>()[i] != results[1].as<float>()[i]) {
        ADD_FAILURE() << "seed " << seed << ", element " << i << ": " << results[0].as<float>()[i] << ", native "
                      << results[1].as<float>()[i];
        break;
      }
  }
}

}  // namespace
