// Places of values in the arena.
#include "machine/flat/Plan.h"

#include "Harness.h"

namespace smalti::machine::test {
namespace {

TEST(ArenaPlan, ValuesThatAreNeverAliveTogetherShareMemory) {
  const flat::ArenaPlan plan = flat::planArena({{128, 0, 2}, {128, 3, 5}, {64, 1, 4}});
  EXPECT_EQ(plan.offsets[0], plan.offsets[1]);
  EXPECT_EQ(plan.bytes, 192);
  EXPECT_EQ(plan.peak, 192);
}

TEST(ArenaPlan, OverlappingValuesNeverOverlapInMemory) {
  std::vector<flat::Interval> intervals;
  unsigned seed = 1;
  const auto next = [&](unsigned n) {
    return static_cast<int>((seed = seed * 1664525u + 1013904223u) >> 16) % static_cast<int>(n);
  };
  for (int k = 0; k < 300; ++k) {
    const int first = next(200);
    intervals.push_back({64 * (1 + next(20)), first, first + next(30)});
  }
  const flat::ArenaPlan plan = flat::planArena(intervals);
  for (size_t a = 0; a < intervals.size(); ++a)
    for (size_t b = 0; b < a; ++b) {
      if (intervals[a].last < intervals[b].first || intervals[b].last < intervals[a].first) continue;
      EXPECT_TRUE(plan.offsets[a] + intervals[a].bytes <= plan.offsets[b] ||
                  plan.offsets[b] + intervals[b].bytes <= plan.offsets[a]);
    }
  EXPECT_LE(plan.bytes, plan.peak * 12 / 10);
}

using Memory = Kernel;

TEST_F(Memory, AChainOfOpsNeedsOneVector) {
  buffer(DType::f32, {1024}, {1});
  run(R"(
    %c = arith.constant 0 : index
    %a = vector.load %0[%c] : memref<1024xf32, #tpu.memory_space<vmem>>, vector<1024xf32>
    %b = math.absf %a : vector<1024xf32>
    %d = arith.mulf %b, %b : vector<1024xf32>
    %e = arith.addf %d, %a : vector<1024xf32>
    %f = arith.negf %e : vector<1024xf32>
    vector.store %f, %0[%c] : memref<1024xf32, #tpu.memory_space<vmem>>, vector<1024xf32>
  )");
  EXPECT_LE(valueBytes(*program), 2 * 4096);
  EXPECT_EQ(out(0)[5], -2);
}

TEST_F(Memory, SplatsNeedNoMemory) {
  buffer(DType::f32, {1024}, {1});
  run(R"(
    %c = arith.constant 0 : index
    %a = arith.constant dense<2.0> : vector<1024xf32>
    %b = math.absf %a : vector<1024xf32>
    %d = arith.mulf %b, %b : vector<1024xf32>
    vector.store %d, %0[%c] : memref<1024xf32, #tpu.memory_space<vmem>>, vector<1024xf32>
  )");
  EXPECT_EQ(valueBytes(*program), 0);
  EXPECT_EQ(out(0)[1023], 4);
}

TEST_F(Memory, ValuesBeyondTheLimitAreRefused) {
  buffer(DType::f32, {1}, {1});
  EXPECT_EQ(failure(R"(
    %a = "tpu.iota"() <{dimensions = array<i32: 0>}> : () -> vector<1048576x1048576xi32>
    %b = arith.addi %a, %a : vector<1048576x1048576xi32>
    %s = vector.extract %b[1, 2] : i32 from vector<1048576x1048576xi32>
    "tpu.log"(%s) <{formatted = false, tag = ""}> : (i32) -> ()
  )"),
            "SM9005");
}

}  // namespace
}  // namespace smalti::machine::test
