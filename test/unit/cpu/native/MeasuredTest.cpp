// Code that notes how long its parts take: its results are those of other code, which has nothing of it.
#include "cpu/MeasuredKernel.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "Native.h"
#include "RowKernels.h"

namespace smalti::cpu::testing {
namespace {

constexpr int64_t kSteps = 6;

/// x / sum(x) row by row.
TextKernel shares(const char* semantics) {
  TextKernel k({kSteps}, semantics);
  const Spec rows{.dtype = "f32", .array = {kSteps * 64, 512}, .block = {64, 512}, .map = "%i, %c0"};
  const Val x = k.input(rows);
  const Val o = k.output(rows);
  const Val v = k.load(x);
  k.store(k.binary("arith.divf", v, reducedRows(k, "add", v, {64, 512}, 0)), o);
  return k;
}

Array ones() {
  return f32Array({kSteps * 64, 512}, [](int64_t i) { return static_cast<float>(1 + i % 7); });
}

TEST(Measured, StepsAndPartsLieInTheCallAndResultsAreTheSame) {
  const TextKernel kernel = shares("arbitrary");
  const auto measured = compileMeasured(kernel.package(), {});
  ASSERT_TRUE(measured && measured->kernel);
  const std::vector<Array> operands{ones()};
  bool fault = false;
  Measurement m;
  const auto results = measured->kernel->measure(operands, {.threads = 1}, fault, nullptr, m);
  ASSERT_TRUE(results);
  EXPECT_FALSE(fault);
  const std::vector<Array> expected = same(kernel, operands);
  ASSERT_EQ(results->size(), expected.size());
  EXPECT_EQ(difference((*results)[0], expected[0]), "");

  EXPECT_EQ(m.threads, 1);
  EXPECT_EQ(m.steps, static_cast<int64_t>(m.firstSteps.size()));
  ASSERT_EQ(m.grid.size(), 1U);
  EXPECT_EQ(m.steps, m.grid[0]);
  double last = 0, inParts = 0;
  for (size_t i = 0; i < m.firstSteps.size(); ++i) {
    EXPECT_EQ(m.firstSteps[i].step, static_cast<int64_t>(i));
    EXPECT_LE(last, m.firstSteps[i].fromNs);
    EXPECT_LT(m.firstSteps[i].fromNs, m.firstSteps[i].toNs);
    last = m.firstSteps[i].toNs;
  }
  for (const MeasuredPart& p : m.parts) inParts += p.ns;
  EXPECT_LE(last, m.ns);
  EXPECT_LE(inParts, m.ns);
  const auto division = std::ranges::find_if(
      m.parts, [](const MeasuredPart& p) { return std::ranges::find(p.ops, "arith.divf") != p.ops.end(); });
  ASSERT_NE(division, m.parts.end());
  EXPECT_EQ(division->times, m.steps);
  EXPECT_FALSE(division->places.empty());
}

TEST(Measured, ThreadsAreMeasuredSeparately) {
  const auto measured = compileMeasured(shares("parallel").package(), {});
  ASSERT_TRUE(measured && measured->kernel);
  const std::vector<Array> operands{ones()};
  bool fault = false;
  Measurement m;
  ASSERT_TRUE(measured->kernel->measure(operands, {.threads = 2}, fault, nullptr, m));
  EXPECT_LE(m.threads, 2);
  std::vector<int64_t> steps;
  for (const MeasuredStep& s : m.firstSteps) {
    EXPECT_LT(s.thread, m.threads);
    steps.push_back(s.step);
  }
  std::ranges::sort(steps);
  EXPECT_EQ(std::ranges::adjacent_find(steps), steps.end());  // each once
  EXPECT_EQ(m.steps, static_cast<int64_t>(steps.size()));
}

TEST(Measured, OtherCodeHasNoStamps) {
  EXPECT_TRUE(compileMeasured(shares("arbitrary").package(), {}));  // leaves nothing behind
  bool fault = false;
  const auto code = native(shares("arbitrary"));
  ASSERT_TRUE(code);
  const auto measured = compileMeasured(shares("arbitrary").package(), {});
  ASSERT_TRUE(measured && measured->kernel);
  EXPECT_LT(code->report().compile.objectBytes, measured->kernel->report().compile.objectBytes);
  EXPECT_EQ(code->report().compile.objectBytes, native(shares("arbitrary"))->report().compile.objectBytes);
  EXPECT_TRUE(code->call(std::vector<Array>{ones()}, 1, fault));
}

}  // namespace
}  // namespace smalti::cpu::testing
