// S-G, S-H: semaphores, copies, several devices and cores.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "TextKernel.h"

namespace smalti::machine::testing {
namespace {

using ::testing::HasSubstr;

std::vector<MachineOptions> everyDmaMode() {
  std::vector<MachineOptions> all;
  for (DmaExecution mode : {DmaExecution::eager, DmaExecution::onWait, DmaExecution::random})
    for (uint64_t seed : {0u, 1u, 2u}) {
      MachineOptions o = checked();
      o.dma = mode;
      o.seed = seed;
      all.push_back(o);
    }
  return all;
}
void expectClean(const Result<KernelResult>& r) {
  ASSERT_TRUE(r.has_value()) << r.error().str();
  for (const Finding& f : r->findings) ADD_FAILURE() << f.diagnostic.str();
}

/// Input → scratch → output through two copies.
TextKernel throughScratch(bool regular = false) {
  TextKernel k;
  const Val x = k.input({.array = {4, 4}, .space = "any"});
  const Val o = k.output({.array = {4, 4}, .space = "any"});
  const Val v = k.scratch("f32", {4, 4});
  const Val sem = regular ? k.semaphore() : k.dmaSemaphore();
  k.dma(x, v, sem);
  k.waitDma(x, v, sem);
  k.dma(v, o, sem);
  k.waitDma(v, o, sem);
  return k;
}

TEST(Dma, SG1_DataMovesAtAnyTimeUpToTheWait) {
  for (const MachineOptions& options : everyDmaMode()) {
    const auto r = runOn(throughScratch(), {{counting({4, 4})}}, options);
    expectClean(r);
    EXPECT_EQ(floats(r->results[0][0]), floats(counting({4, 4})));
  }
}

TEST(Dma, SG1_ReadingTheDestinationBeforeTheWaitSeesOldOrNewData) {
  TextKernel k;
  const Val x = k.input({.array = {1, 4}, .space = "any"});
  const Val o = k.output({.array = {1, 4}});
  const Val v = k.scratch("f32", {1, 4}), sem = k.dmaSemaphore();
  k.store(k.splat(k.f32(-1), {1, 4}), v);
  k.dma(x, v, sem);
  k.store(k.load(v), o);
  k.waitDma(x, v, sem);
  MachineOptions eager, late;
  eager.dma = DmaExecution::eager;
  late.dma = DmaExecution::onWait;
  EXPECT_EQ(floats(results(k, {counting({1, 4})}, eager)[0])[1], 1.f);
  EXPECT_EQ(floats(results(k, {counting({1, 4})}, late)[0])[1], -1.f);
}

TEST(Dma, SG2_SeveralCopiesShareASemaphoreThatCountsBytes) {
  TextKernel k;
  const Val x = k.input({.array = {3, 4}, .space = "any"});
  const Val o = k.output({.array = {3, 4}, .space = "any"});
  const Val sem = k.dmaSemaphore();
  const Val zero = k.constant(0), one = k.constant(1);
  const Val x1 = k.slice(x, {zero, zero}, {1, 4}), o1 = k.slice(o, {zero, zero}, {1, 4});
  const Val x2 = k.slice(x, {one, zero}, {2, 4}), o2 = k.slice(o, {one, zero}, {2, 4});
  k.dma(x1, o1, sem);
  k.dma(x2, o2, sem);
  k.waitDma(x2, o2, sem);  // in any order, by size
  k.waitDma(x1, o1, sem);
  for (const MachineOptions& options : everyDmaMode()) {
    const auto r = runOn(k, {{counting({3, 4})}}, options);
    expectClean(r);
    EXPECT_EQ(floats(r->results[0][0]), floats(counting({3, 4})));
    EXPECT_EQ(r->statistics.dmaBytes, 48);
  }
}

TEST(Dma, SG3_ARegularSemaphoreCountsCopies) {
  for (const MachineOptions& options : everyDmaMode())
    expectClean(runOn(throughScratch(true), {{counting({4, 4})}}, options));
}

TEST(Semaphores, SG4_WaitBlocksUntilTheCountIsThereAndTakesIt) {
  TextKernel k;
  const Val o = k.output({.dtype = "i32", .array = {2}, .space = "smem"});
  const Val sem = k.semaphore();
  k.semSignal(sem, k.constant(5));
  k.semWait(sem, k.constant(2));
  k.scalarStore(k.semRead(sem), o, {k.constant(0)});
  k.semWait(sem, k.constant(3));
  k.scalarStore(k.semRead(sem), o, {k.constant(1)});
  const auto r = runOn(k, {{}}, checked());
  expectClean(r);
  EXPECT_EQ(ints(r->results[0][0]), (std::vector<int32_t>{3, 0}));
}

TEST(Semaphores, SG5_WaitingForMoreThanIsSignalledIsADeadlock) {
  TextKernel k;
  const Val sem = k.semaphore({2});
  const Val one = k.constant(1);
  k.semSignal(k.at(sem, one), one);
  k.semWait(k.at(sem, one), k.constant(2));
  const auto r = runOn(k, {{}});
  ASSERT_FALSE(r);
  const Diagnostic& d = r.error();
  EXPECT_EQ(d.code, "SM4103");
  ASSERT_EQ(d.related.size(), 1u);
  EXPECT_EQ(d.related[0].message, "device 0 core 0 waits on scratch 0[1]");
  EXPECT_EQ(d.related[0].need, "a count of 2");
  EXPECT_EQ(d.related[0].have, "1");
  EXPECT_THAT(d.related[0].help, HasSubstr("it could be raised by the signal"));
  EXPECT_THAT(d.related[0].help, HasSubstr("raised 1 time(s), last by device 0"));
}

TEST(Semaphores, SG5_WaitingForMoreBytesThanArriveIsADeadlock) {
  TextKernel k;
  const Val x = k.input({.array = {2, 4}, .space = "any"});
  const Val o = k.output({.array = {2, 4}, .space = "any"});
  const Val sem = k.dmaSemaphore();
  const Val zero = k.constant(0);
  k.dma(k.slice(x, {zero, zero}, {1, 4}), k.slice(o, {zero, zero}, {1, 4}), sem);
  k.waitDma(x, o, sem);
  const auto r = runOn(k, {{counting({2, 4})}});
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, "SM4103");
  EXPECT_EQ(r.error().related[0].need, "a count of 32");
  EXPECT_EQ(r.error().related[0].have, "16");
}

/// Every device sends its input to its right neighbour.
TextKernel permute(int devices, bool barrier = true) {
  TextKernel k;
  const Val x = k.input({.array = {2, 4}, .space = "any"});
  const Val o = k.output({.array = {2, 4}, .space = "any"});
  const Val send = k.dmaSemaphore(), receive = k.dmaSemaphore();
  const Val one = k.constant(1), n = k.constant(devices);
  const Val right = k.binary("arith.remsi", k.binary("arith.addi", k.deviceId(), one), n);
  if (barrier) {
    const Val bar = k.barrier();
    // To the one that will copy to this device; what comes is from the one that this device copies to.
    const Val left = k.binary("arith.remsi", k.binary("arith.addi", k.deviceId(), k.constant(devices - 1)), n);
    k.semSignal(bar, one, left);
    k.semWait(bar, one);
  }
  k.remoteDma(x, send, o, receive, right);
  k.waitSend(x, send, o, receive, right);
  k.waitReceive(x, send, o, receive, right);
  return k;
}

std::vector<std::vector<Array>> perDevice(int n) {
  std::vector<std::vector<Array>> operands;
  for (int d = 0; d < n; ++d)
    operands.push_back({f32Array({2, 4}, [=](int64_t i) { return static_cast<float>(100 * d + i); })});
  return operands;
}

TEST(Devices, SG6_ARemoteCopyNamesTheSameAllocationOnTheTarget) {
  for (const MachineOptions& options : everyDmaMode()) {
    const auto r = runOn(permute(4), perDevice(4), options);
    expectClean(r);
    for (int d = 0; d < 4; ++d) EXPECT_EQ(floats(r->results[d][0])[0], 100.f * ((d + 3) % 4));
  }
}

TEST(Devices, SG7_ALogicalIdOutOfRangeIsRefused) {
  TextKernel k;
  k.semSignal(k.barrier(), k.constant(1), k.constant(2));
  const auto r = runOn(k, {{}, {}});
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, "SM4052");
  EXPECT_EQ(r.error().need, "a logical device id from 0 to 1");
  EXPECT_EQ(r.error().have, "device 2");
}

TEST(Devices, SG8_ARemoteSignalLandsOnTheSameCoreIndex) {
  // Two cores per device; core c of device 0 signals device 1, whose core c waits.
  TextKernel k({2}, "core_parallel");
  const Val sem = k.semaphore();
  const Val one = k.constant(1);
  k.when(k.compare("eq", k.deviceId(), k.constant(0)), [&] { k.semSignal(sem, one, one); });
  k.when(k.compare("eq", k.deviceId(), one), [&] { k.semWait(sem, one); });
  expectClean(runOn(k, {{}, {}}, checked()));
}

TEST(Devices, SG9_ABarrierProvesThatPeersHaveEntered) {
  for (const MachineOptions& options : everyDmaMode()) expectClean(runOn(permute(2), perDevice(2), options));
}

TEST(Devices, SG10_WithoutABarrierAllDevicesStartTogether) {
  for (const MachineOptions& options : everyDmaMode()) {
    const auto r = runOn(permute(4, false), perDevice(4), options);
    expectClean(r);
    EXPECT_EQ(floats(r->results[1][0])[0], 0.f);
  }
}

TEST(Devices, SG6_APeerMaySignalARegionSemaphoreBeforeItIsAllocated) {
  TextKernel k;  // device 0 signals at once; device 1 allocates after a long loop
  const Val one = k.constant(1), id = k.deviceId();
  k.when(k.compare("eq", id, one), [&] { k.loop(k.constant(0), k.constant(50'000), [&](Val) {}); });
  k.region([&] {
    const Val sem = k.semAlloc("!tpu.semaphore");
    k.when(k.compare("eq", id, k.constant(0)), [&] { k.semSignal(sem, k.constant(3), one); });
    k.when(k.compare("eq", id, one), [&] { k.semWait(sem, k.constant(3)); });
  });
  MachineOptions options = checked();
  options.stepQuantum = 100;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    options.seed = seed;
    expectClean(runOn(k, {{}, {}}, options));
  }
}

TEST(Devices, SG12_ACopyIsWaitedForInALaterStepThroughARebuiltDescriptor) {
  TextKernel k({2});
  const Val x = k.input({.array = {2, 4}, .space = "any"});
  const Val o = k.output({.array = {2, 4}, .space = "any"});
  const Val sem = k.dmaSemaphore();
  k.when(k.compare("eq", k.id(0), k.constant(0)), [&] { k.dma(x, o, sem); });
  k.when(k.compare("eq", k.id(0), k.constant(1)), [&] { k.waitDma(x, o, sem); });
  for (const MachineOptions& options : everyDmaMode()) expectClean(runOn(k, {{counting({2, 4})}}, options));
}

TEST(Devices, SG12_SemaphoreOperandsCarryTheirCountsAcrossCalls) {
  TextKernel start;
  const Val out = start.output({.dtype = "!tpu.semaphore", .array = {1}, .space = "semaphore_mem"});
  start.semSignal(start.at(out, start.constant(0)), start.constant(2));
  const auto first = results(start, {});
  TextKernel end;
  const Val in = end.input({.dtype = "!tpu.semaphore", .array = {1}, .space = "semaphore_mem"});
  end.semWait(end.at(in, end.constant(0)), end.constant(2));
  const auto r = runOn(end, {{first[0]}}, checked());
  expectClean(r);
}

TEST(Dma, SG13_LocalCopiesBetweenAnySpaces) {
  TextKernel k({2});
  const Val x = k.input({.array = {4, 4}, .space = "any"});
  const Val o = k.output({.array = {4, 4}, .space = "any"});
  const Val a = k.scratch("f32", {2, 4}), b = k.scratch("f32", {2, 4}), sem = k.dmaSemaphore();
  const Val row = k.binary("arith.muli", k.id(0), k.constant(2)), zero = k.constant(0);
  const Val from = k.slice(x, {row, zero}, {2, 4}), to = k.slice(o, {row, zero}, {2, 4});
  k.dma(from, a, sem);
  k.waitDma(from, a, sem);
  k.dma(a, b, sem);
  k.waitDma(a, b, sem);
  k.dma(b, to, sem);
  k.waitDma(b, to, sem);
  for (const MachineOptions& options : everyDmaMode()) {
    const auto r = runOn(k, {{counting({4, 4})}}, options);
    expectClean(r);
    EXPECT_EQ(floats(r->results[0][0]), floats(counting({4, 4})));
  }
}

TEST(Devices, AKernelThatPollsDoesNotStarveTheOthers) {
  TextKernel k;  // device 0 polls until device 1 has signalled it
  const Val sem = k.semaphore();
  const Val one = k.constant(1), zero = k.constant(0), id = k.deviceId();
  k.when(k.compare("eq", id, zero), [&] {
    k.whileLoop([&] { return k.compare("slt", k.semRead(sem), one); }, [] {});
    k.semWait(sem, one);
  });
  k.when(k.compare("eq", id, one), [&] { k.semSignal(sem, one, zero); });
  MachineOptions options = checked();
  options.stepLimit = 1'000'000;
  expectClean(runOn(k, {{}, {}}, options));
}

TEST(Devices, PollingForWhatNeverComesIsALivelock) {
  TextKernel k;
  const Val sem = k.semaphore();
  k.whileLoop([&] { return k.compare("slt", k.semRead(sem), k.constant(1)); }, [] {});
  MachineOptions options;
  options.stepLimit = 100'000;
  const auto r = runOn(k, {{}}, options);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, "SM4104");
  EXPECT_EQ(r.error().related.size(), 1u);
}

TEST(Devices, SK4_AProgramThatFailsDoesNotHangItsPeers) {
  TextKernel k;  // device 0 signals a device that does not exist; device 1 waits for ever
  const Val sem = k.semaphore();
  const Val one = k.constant(1), id = k.deviceId();
  k.when(k.compare("eq", id, k.constant(0)), [&] { k.semSignal(sem, one, k.constant(7)); });
  k.semWait(sem, one);
  const auto r = runOn(k, {{}, {}});
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, "SM4052");
  EXPECT_EQ(r.error().where[1], "device 0");
}

TEST(Cores, SH1_ArbitraryAxesAreNeverSplit) {
  TextKernel k({4});
  const Val o = k.output({.dtype = "i32", .array = {4}, .block = {1}, .map = "%i", .space = "smem"});
  const Val count = k.scratch("i32", {1}, "smem");
  k.when(k.compare("eq", k.id(0), k.constant(0)), [&] { k.scalarStore(k.constant(0), count, {}); });
  k.scalarStore(k.binary("arith.addi", k.scalarLoad(count, {}), k.constant(1)), count, {});
  k.scalarStore(k.scalarLoad(count, {}), o, {});
  MachineOptions options;
  options.cores = 2;
  EXPECT_EQ(ints(results(k, {}, options)[0]), (std::vector<int32_t>{1, 2, 3, 4}));
}

TEST(Cores, SH2_ParallelAxesAreSplitOverCoresWithTheSameResult) {
  for (int cores : {1, 2, 3, 8}) {
    TextKernel k({3, 2}, "parallel,arbitrary");
    const Val x = k.input({.array = {3, 4}, .block = {1, 4}, .map = "%i, %c0"});
    const Val o = k.output({.array = {3, 4}, .block = {1, 4}, .map = "%i, %c0"});
    k.when(k.compare("eq", k.id(1), k.constant(0)), [&] { k.store(k.splat(k.f32(0), {1, 4}), o); });
    k.store(k.binary("arith.addf", k.load(o), k.load(x)), o);
    MachineOptions options = checked();
    options.cores = cores;
    options.stepQuantum = 3;
    const auto r = runOn(k, {{counting({3, 4})}}, options);
    expectClean(r);
    EXPECT_EQ(floats(r->results[0][0])[11], 22.f);
    EXPECT_EQ(r->statistics.gridSteps, 6);
  }
}

TEST(Cores, SK2_ScratchBelongsToACoreAndHbmToTheDevice) {
  TextKernel k({2}, "core_parallel");
  const Val o = k.output({.dtype = "i32", .array = {2}, .space = "any"});
  const Val mine = k.scratch("i32", {1}, "smem"), sem = k.semaphore(), copied = k.dmaSemaphore();
  const Val one = k.constant(1);
  k.scalarStore(k.id(0), mine, {});
  k.semSignal(sem, one, k.deviceId(), k.binary("arith.subi", one, k.id(0)));
  k.semWait(sem, one);  // both have stored by now
  const Val to = k.slice(o, {k.id(0)}, {1});
  k.dma(mine, to, copied);
  k.waitDma(mine, to, copied);
  const auto r = runOn(k, {{}}, checked());
  expectClean(r);
  EXPECT_EQ(ints(r->results[0][0]), (std::vector<int32_t>{0, 1}));
}

TEST(Cores, SH8_ACoreMeshRunsOnEveryCoreAtTheSameTime) {
  // Each core waits for the other: run one after the other it would not end.
  TextKernel k({2}, "core_parallel");
  const Val o = k.output({.dtype = "i32", .array = {2}, .space = "any"});
  const Val mine = k.scratch("i32", {1}, "smem"), sem = k.semaphore(), copied = k.dmaSemaphore();
  const Val one = k.constant(1), zero = k.constant(0);
  const Val other = k.binary("arith.subi", one, k.id(0));
  k.semSignal(sem, one, k.deviceId(), other);
  k.semWait(sem, one);
  k.scalarStore(k.binary("arith.addi", k.id(0), k.constant(10)), mine, {zero});
  const Val to = k.slice(o, {k.id(0)}, {1});
  k.dma(mine, to, copied);
  k.waitDma(mine, to, copied);
  const auto r = runOn(k, {{}}, checked());
  expectClean(r);
  EXPECT_EQ(ints(r->results[0][0]), (std::vector<int32_t>{10, 11}));
}

}  // namespace
}  // namespace smalti::machine::testing
