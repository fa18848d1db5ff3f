// Grid steps that look up the blocks of the outputs, on targets that divide them among blocks of threads.
#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "smalti/smalti.h"

namespace pl = smalti;
using pl::_;

namespace {

constexpr int64_t kBlocks = 12, kRows = 8, kColumns = 128, kBlockElements = kRows * kColumns;

/// By step: the blocks of the two outputs.
struct Steps {
  std::vector<int32_t> first, second;
};

/// Each step adds its input block to a block of the first output, which begins at 0 when it becomes current, and
/// replaces a block of the second one.
pl::Results run(const std::string& target, const Steps& steps) {
  pl::Settings settings;
  EXPECT_TRUE(settings.set("target", target));
  const auto count = static_cast<int64_t>(steps.first.size());
  std::vector<float> values(static_cast<size_t>(count * kBlockElements));
  std::iota(values.begin(), values.end(), 1.0F);
  const pl::BlockSpec rows{{kRows, kColumns}, [](auto i, auto, auto) { return std::tuple{i, 0}; }};
  const pl::BlockSpec first{{kRows, kColumns}, [](auto i, auto a, auto) { return std::tuple{a[i], 0}; }};
  const pl::BlockSpec second{{kRows, kColumns}, [](auto i, auto, auto b) { return std::tuple{b[i], 0}; }};
  const pl::ShapeDtype out{{kBlocks * kRows, kColumns}, pl::f32};
  return pl::pallas_call(
             [](pl::Ref first, pl::Ref, pl::Ref in, pl::Ref sums, pl::Ref last) {
               const pl::Array step = pl::program_id(0);
               const pl::Array before = first[pl::maximum(step - 1, 0)];
               pl::when(step == 0 || first[step] != before, [&] { sums[_] = pl::zeros_like(sums); });
               sums[_] += in[_];
               last[_] = in[_] * 2;
             },
             {.out_shape = {out, out},
              .grid_spec =
                  pl::GridSpec{
                      .num_scalar_prefetch = 2, .grid = {count}, .in_specs = {rows}, .out_specs = {first, second}}})
      .with(settings)
      .run({pl::array(steps.first), pl::array(steps.second), pl::array(values, {count * kRows, kColumns})});
}

/// Blocks that no step visits are undefined.
void expectSame(const Steps& steps, const std::string& target) {
  const pl::Results want = run("interpret", steps), got = run(target, steps);
  for (size_t o = 0; o < 2; ++o) {
    const auto& blocks = o == 0 ? steps.first : steps.second;
    for (const int32_t block : std::set<int32_t>(blocks.begin(), blocks.end()))
      EXPECT_TRUE(std::equal(want[o].as<float>() + block * kBlockElements,
                             want[o].as<float>() + (block + 1) * kBlockElements,
                             got[o].as<float>() + block * kBlockElements))
          << "output " << o << ", block " << block;
  }
}

class RunsOfStepsOn : public ::testing::TestWithParam<const char*> {};

TEST_P(RunsOfStepsOn, BlocksInAscendingOrder) {
  expectSame({{0, 0, 1, 1, 1, 2, 5, 5, 7}, {0, 1, 2, 3, 4, 5, 6, 7, 8}}, GetParam());
}
TEST_P(RunsOfStepsOn, OneOutputRemainsWhileTheOtherChanges) {
  expectSame({{0, 0, 1, 1, 2, 2, 3, 3}, {0, 1, 1, 2, 2, 3, 3, 4}}, GetParam());
}
TEST_P(RunsOfStepsOn, ALaterStepReplacesABlock) {
  expectSame({{3, 3, 1, 1, 3, 0, 2, 3}, {4, 2, 4, 1, 4, 2, 1, 0}}, GetParam());
  expectSame({{0, 1, 2, 3, 4, 5, 6, 0}, {0, 1, 2, 3, 4, 5, 6, 7}}, GetParam());
  expectSame({{7, 6, 5, 4, 3, 2, 1, 0}, {0, 1, 2, 3, 4, 5, 6, 7}}, GetParam());
}
TEST_P(RunsOfStepsOn, RandomBlocks) {
  std::mt19937 random(1);
  for (int n = 0; n < 12; ++n) {
    Steps steps;
    for (auto* blocks : {&steps.first, &steps.second}) {
      for (int i = 0; i < 10; ++i) blocks->push_back(static_cast<int32_t>(random() % kBlocks));
      if (n % 3 != 0) std::ranges::sort(*blocks);
    }
    expectSame(steps, GetParam());
  }
}

/// The grid has no steps, but its first axis is very long.
TEST_P(RunsOfStepsOn, AnEmptyAxisInside) {
  pl::Settings settings;
  EXPECT_TRUE(settings.set("target", GetParam()));
  const pl::Array count = pl::full({}, 1 << 30, pl::i32), none = pl::full({}, 0, pl::i32);
  const pl::BlockSpec spec{{kRows, kColumns},
                           [](auto i, auto, auto ids) { return std::tuple{ids[pl::floor_divide(i, 1 << 27)], 0}; }};
  const pl::Results result =
      pl::pallas_call([](pl::Ref, pl::Ref o) { o[_] = pl::ones({kRows, kColumns}); },
                      {.out_shape = pl::ShapeDtype{{kBlocks * kRows, kColumns}, pl::f32},
                       .grid_spec = pl::GridSpec{.num_scalar_prefetch = 1, .grid = {count, none}, .out_specs = {spec}}})
          .with(settings)
          .run({pl::array(std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7})});
  EXPECT_EQ(result[0].shape(), (pl::Shape{kBlocks * kRows, kColumns}));
}

INSTANTIATE_TEST_SUITE_P(Targets, RunsOfStepsOn, ::testing::Values("cpu", "cuda-host", "cuda-host:sm_80"));

}  // namespace
