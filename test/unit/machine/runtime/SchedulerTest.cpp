// The step limit holds to the instruction, whatever the quantum and however many programs share it.
#include <atomic>

#include <gtest/gtest.h>

#include "TextKernel.h"

namespace smalti::machine::testing {
namespace {

/// Two steps of a loop of five rounds each; an index map that computes.
TextKernel loops() {
  TextKernel k({2});
  const Val o = k.output({.dtype = "i32",
                          .array = {2},
                          .block = {1},
                          .map = "%r",
                          .lines = "%r = arith.addi %i, %c0 : i32\n",
                          .space = "smem"});
  const Val count = k.scratch("i32", {1}, "smem");
  k.scalarStore(k.constant(0), count, {});
  k.loop(k.constant(0), k.constant(5),
         [&](Val) { k.scalarStore(k.binary("arith.addi", k.scalarLoad(count, {}), k.constant(1)), count, {}); });
  k.scalarStore(k.scalarLoad(count, {}), o, {});
  return k;
}

TEST(Scheduler, TheStepLimitIsExact) {
  for (size_t devices : {1, 3}) {
    const std::vector<std::vector<Array>> operands(devices);
    const auto free = runOn(loops(), operands);
    ASSERT_TRUE(free) << free.error().str();
    const int64_t needed = free->statistics.instructions;
    EXPECT_GT(needed, static_cast<int64_t>(devices) * 2 * 5);
    for (int64_t quantum : {1, 7, 10'000}) {
      MachineOptions options;
      options.stepQuantum = quantum;
      options.stepLimit = needed;
      EXPECT_TRUE(runOn(loops(), operands, options)) << "quantum " << quantum;
      options.stepLimit = needed - 1;
      const auto stopped = runOn(loops(), operands, options);
      ASSERT_FALSE(stopped) << "quantum " << quantum;
      EXPECT_EQ(stopped.error().code, "SM4104");
      EXPECT_EQ(stopped.error().have, "no end after " + std::to_string(needed - 1));
    }
  }
}

TEST(Scheduler, TheStepLimitHoldsWithinOneQuantum) {
  TextKernel k;
  const Val sem = k.semaphore();
  k.whileLoop([&] { return k.compare("slt", k.semRead(sem), k.constant(1)); }, [] {});
  for (int64_t limit : {1, 2, 1234}) {
    MachineOptions options;
    options.stepLimit = limit;
    const auto r = runOn(k, {{}, {}}, options);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().have, "no end after " + std::to_string(limit));
  }
}

TEST(Scheduler, AWaitThatWasNotTriedForLackOfStepsIsNoDeadlock) {
  TextKernel k;  // device 0 counts to a thousand, then signals device 1
  const Val sem = k.semaphore();
  const Val one = k.constant(1), zero = k.constant(0), id = k.deviceId();
  k.when(k.compare("eq", id, zero), [&] {
    k.loop(zero, k.constant(1000), [](Val) {});
    k.semSignal(sem, one, one);
  });
  k.when(k.compare("eq", id, one), [&] { k.semWait(sem, one); });
  const int64_t needed = runOn(k, {{}, {}})->statistics.instructions;
  for (int64_t limit = needed - 30; limit < needed; ++limit) {
    MachineOptions options;
    options.stepLimit = limit;
    const auto r = runOn(k, {{}, {}}, options);
    if (!r) {
      EXPECT_EQ(r.error().code, "SM4104") << limit;
    }
  }
}

TEST(Scheduler, ARunCanBeStoppedFromOutside) {
  const std::atomic<bool> stop = true;
  MachineOptions options;
  options.stop = &stop;
  const auto r = runOn(loops(), {{}, {}}, options);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, "SM9006");
  EXPECT_EQ(r.error().have, "no end after 0 instructions and grid steps");
  EXPECT_EQ(r.error().related.size(), 2u);
}

TEST(Scheduler, ProgramsWithoutStepsNeedNoBudget) {
  TextKernel k({kDynamicBound});
  k.output({.dtype = "i32", .array = {1}, .block = {1}, .map = "%c0", .space = "smem"});
  const Array one = i32Scalar(1), none = i32Scalar(0);
  MachineOptions options;
  options.stepLimit = runOn(k, {{one}})->statistics.instructions;
  EXPECT_TRUE(runOn(k, {{one}, {none}, {none}}, options));
}

}  // namespace
}  // namespace smalti::machine::testing
