// What must not happen while a copy is in flight, and what must not be left at the end.
#include <gtest/gtest.h>

#include "../runtime/TextKernel.h"

namespace smalti::machine::testing {
namespace {

using Codes = std::vector<std::string>;

/// x → scratch; `between` runs between start and wait.
struct CopyKernel {
  TextKernel k;
  Val x = k.input({.array = {4, 4}, .space = "any"});
  Val y = k.input({.array = {4, 4}, .space = "any"});
  Val o = k.output({.array = {4, 4}});
  Val v = k.scratch("f32", {4, 4}), w = k.scratch("f32", {4, 4}), sem = k.dmaSemaphore(), sem2 = k.dmaSemaphore();
  Val ones() { return k.splat(k.f32(1), {4, 4}); }
  Codes run() {
    auto r = runOn(k, {{counting({4, 4}), counting({4, 4})}}, checked());
    EXPECT_TRUE(r.has_value()) << r.error().str();
    return r ? codes(*r) : Codes{};
  }
};

TEST(DmaChecker, SG1_TheSourceIsWrittenInFlight) {
  CopyKernel c;
  c.k.store(c.ones(), c.w);
  c.k.dma(c.w, c.v, c.sem);
  c.k.store(c.ones(), c.w);
  c.k.waitDma(c.w, c.v, c.sem);
  c.k.store(c.k.load(c.v), c.o);
  EXPECT_EQ(c.run(), Codes{"SM4107"});
}

TEST(DmaChecker, SG1_TheDestinationIsReadInFlight) {
  CopyKernel c;
  c.k.store(c.ones(), c.v);
  c.k.dma(c.x, c.v, c.sem);
  c.k.store(c.k.load(c.v), c.o);
  c.k.waitDma(c.x, c.v, c.sem);
  EXPECT_EQ(c.run(), Codes{"SM4108"});
}

TEST(DmaChecker, SG1_TheDestinationIsWrittenByAnotherCopy) {
  CopyKernel c;
  c.k.dma(c.x, c.v, c.sem);
  c.k.dma(c.y, c.v, c.sem2);
  c.k.waitDma(c.x, c.v, c.sem);
  c.k.waitDma(c.y, c.v, c.sem2);
  c.k.store(c.k.load(c.v), c.o);
  EXPECT_EQ(c.run(), Codes{"SM4108"});
}

TEST(DmaChecker, SG1_OtherRowsAndReadsOfTheSourceAreFine) {
  CopyKernel c;
  const Val zero = c.k.constant(0), two = c.k.constant(2);
  c.k.store(c.ones(), c.v);
  c.k.store(c.ones(), c.w);
  const Val from = c.k.slice(c.w, {zero, zero}, {2, 4}), to = c.k.slice(c.v, {zero, zero}, {2, 4});
  c.k.dma(from, to, c.sem);
  c.k.store(c.k.load(c.v, {2, 4}, {two, zero}), c.o, {two, zero});
  c.k.store(c.k.load(c.w, {2, 4}, {zero, zero}), c.o, {zero, zero});
  c.k.waitDma(from, to, c.sem);
  EXPECT_EQ(c.run(), Codes{});
}

TEST(DmaChecker, SG5_ACopyNobodyWaitsForIsFound) {
  CopyKernel c;
  c.k.dma(c.x, c.v, c.sem);
  c.k.store(c.ones(), c.o);
  EXPECT_EQ(c.run(), (Codes{"SM4106", "SM4109"}));
}

TEST(DmaChecker, SG5_WhatTheModuleMeansIsANote) {
  CopyKernel c;
  c.k.dma(c.x, c.v, c.sem);
  c.k.store(c.ones(), c.o);
  KernelPackage package = c.k.package();
  package.config.disableSemaphoreChecks = true;
  const auto compiled = compileKernel(package, Numerics::f32);
  ASSERT_TRUE(compiled) << compiled.error().str();
  const std::vector<std::vector<Array>> operands{{counting({4, 4}), counting({4, 4})}};
  const auto r = machine::run(**compiled, operands, checked());
  ASSERT_TRUE(r) << r.error().str();
  EXPECT_EQ(codes(*r), (Codes{"SM4106", "SM4109"}));
  for (const Finding& f : r->findings) EXPECT_EQ(f.severity, Severity::note);
  EXPECT_EQ(r->findings[1].diagnostic.have, "disable_semaphore_checks, so the module means it");
}

TEST(DmaChecker, AFindingIsReportedOncePerPlaceWithACount) {
  CopyKernel c;
  c.k.store(c.ones(), c.v);
  c.k.dma(c.x, c.v, c.sem);
  c.k.loop(c.k.constant(0), c.k.constant(5), [&](Val) { c.k.store(c.k.load(c.v), c.o); });
  c.k.waitDma(c.x, c.v, c.sem);
  auto r = runOn(c.k, {{counting({4, 4}), counting({4, 4})}}, checked());
  ASSERT_TRUE(r) << r.error().str();
  ASSERT_EQ(r->findings.size(), 1u);
  EXPECT_EQ(r->findings[0].count, 5);
}

TEST(DmaChecker, SG2_ASliceThatOnlyAWaitUsesMayLieAnywhere) {
  for (bool alsoRead : {false, true}) {
    CopyKernel c;
    const Val zero = c.k.constant(0), two = c.k.constant(2), three = c.k.constant(3);
    for (const Val& row : {zero, two})
      c.k.dma(c.k.slice(c.x, {row, zero}, {2, 4}), c.k.slice(c.v, {row, zero}, {2, 4}), c.sem);
    // One wait for the bytes of both, in terms of rows 3 to 6.
    const Val rows = c.k.slice(c.v, {three, zero}, {4, 4});
    c.k.waitDma(rows, rows, c.sem);
    c.k.store(c.k.load(alsoRead ? rows : c.v), c.o);
    const auto r = runOn(c.k, {{counting({4, 4}), counting({4, 4})}}, checked());
    if (alsoRead) {
      ASSERT_FALSE(r);
      EXPECT_EQ(r.error().code, "SM4010");
    } else {
      ASSERT_TRUE(r) << r.error().str();
      EXPECT_EQ(codes(*r), Codes{});
      EXPECT_EQ(floats(r->results[0][0])[15], 15.f);
    }
  }
}

/// Rows [from, from + 2) of a scratch of four to [to, to + 2).
Result<KernelResult> moveRows(int from, int to) {
  TextKernel k;
  const Val x = k.input({.array = {4, 4}, .space = "any"}), o = k.output({.array = {4, 4}});
  const Val v = k.scratch("f32", {4, 4}), sem = k.dmaSemaphore(), zero = k.constant(0);
  k.dma(x, v, sem);
  k.waitDma(x, v, sem);
  const Val source = k.slice(v, {k.constant(from), zero}, {2, 4}), target = k.slice(v, {k.constant(to), zero}, {2, 4});
  k.dma(source, target, sem);
  k.waitDma(source, target, sem);
  k.store(k.load(v), o);
  return runOn(k, {{counting({4, 4})}}, checked());
}

TEST(OverlappingCopyChecker, SG1_ACopyOntoPartOfItsSourceIsFound) {
  const auto r = moveRows(0, 1);
  ASSERT_TRUE(r) << r.error().str();
  ASSERT_EQ(codes(*r), Codes{"SM4112"});
  const Diagnostic& d = r->findings[0].diagnostic;
  EXPECT_EQ(d.message, "a copy from scratch 0 to scratch 0 overlaps itself");
  EXPECT_EQ(d.where, std::vector<std::string>{"kernel 'kernel'"});
  EXPECT_EQ(d.need, "a source and a target that have no element in common");
  EXPECT_EQ(d.have, "elements 0 to 7 of the memory copied to 4 to 11");
  EXPECT_EQ(d.help, "copy by way of another buffer, or in parts that do not overlap");
}

TEST(OverlappingCopyChecker, SG1_OtherRowsAndTheSameOnesAreFine) {
  for (int to : {0, 2}) {
    const auto r = moveRows(0, to);
    ASSERT_TRUE(r) << r.error().str();
    EXPECT_EQ(codes(*r), Codes{});
  }
}

TEST(SemaphoreChecker, SG5_ANonZeroCountAtKernelExit) {
  TextKernel k;
  const Val sem = k.semaphore({3});
  k.semSignal(k.at(sem, k.constant(1)), k.constant(4));
  auto r = runOn(k, {{}}, checked());
  ASSERT_TRUE(r) << r.error().str();
  ASSERT_EQ(codes(*r), Codes{"SM4106"});
  EXPECT_EQ(r->findings[0].diagnostic.message, "semaphore scratch 0 has a non-zero count at kernel exit");
  EXPECT_EQ(r->findings[0].diagnostic.have, "1 of 3 not 0, the first is number 1 with 4");
}

TEST(SemaphoreChecker, SG5_ThePlaceIsWhatRaisedTheSemaphoreLast) {
  TextKernel k;
  const Val sem = k.semaphore({2}), one = k.constant(1), zero = k.constant(0);
  k.semSignal(k.at(sem, one), one);
  k.semSignal(k.at(sem, zero), one);  // another of the array: that one is waited for
  k.semWait(k.at(sem, zero), one);
  auto r = runOn(k, {{}}, checked());
  ASSERT_TRUE(r) << r.error().str();
  ASSERT_EQ(codes(*r), Codes{"SM4106"});
  EXPECT_EQ(r->findings[0].diagnostic.place.line, lineOf(k, "tpu.sem_signal"));
}

TEST(SemaphoreChecker, SG5_ThePlaceOfACopysSemaphoreIsTheCopy) {
  CopyKernel c;
  c.k.store(c.ones(), c.o);
  c.k.dma(c.x, c.v, c.sem);
  auto r = runOn(c.k, {{counting({4, 4}), counting({4, 4})}}, checked());
  ASSERT_TRUE(r) << r.error().str();
  ASSERT_EQ(codes(*r), (Codes{"SM4106", "SM4109"}));
  EXPECT_EQ(r->findings[0].diagnostic.place.line, lineOf(c.k, "tpu.enqueue_dma"));
}

TEST(SemaphoreChecker, SG5_ASemaphoreOfAnotherRoundOfARegionIsAnotherOne) {
  TextKernel k;
  k.loop(k.constant(0), k.constant(2), [&](const Val& i) {
    k.region([&] {
      const Val sem = k.semAlloc("!tpu.semaphore");
      k.when(k.compare("eq", i, k.constant(0)), [&] { k.semSignal(sem, k.constant(1)); });
    });
  });
  auto r = runOn(k, {{}}, checked());
  ASSERT_TRUE(r) << r.error().str();
  ASSERT_EQ(codes(*r), Codes{"SM4106"});
  EXPECT_EQ(r->findings[0].count, 1);
  EXPECT_EQ(r->findings[0].diagnostic.place.line, lineOf(k, "tpu.sem_signal"));
}

TEST(SemaphoreChecker, SG5_ANonZeroCountAtTheEndOfARegion) {
  TextKernel k;
  k.region([&] { k.semSignal(k.semAlloc("!tpu.semaphore"), k.constant(1)); });
  auto r = runOn(k, {{}}, checked());
  ASSERT_TRUE(r) << r.error().str();
  EXPECT_EQ(codes(*r), Codes{"SM4106"});
}

TEST(SemaphoreChecker, SG5_TheBarrierCountsToo) {
  TextKernel k;
  k.semSignal(k.barrier(), k.constant(1));
  auto r = runOn(k, {{}}, checked());
  ASSERT_TRUE(r) << r.error().str();
  EXPECT_EQ(codes(*r), Codes{"SM4106"});
}

}  // namespace
}  // namespace smalti::machine::testing
