// Memory that a body may read before it writes it: cases that random bodies do not reach.
#include "cpu/analysis/ReadBeforeWrite.h"

#include <gtest/gtest.h>

#include "../native/Native.h"
#include "cpu/analysis/MustWrite.h"

namespace smalti::cpu::testing {
namespace {

TEST(ReadBeforeWrite, CopiesReadTheirSource) {
  TextKernel k;
  const Shape shape{8, 128};
  const Val x = k.input({.array = shape}), first = k.output({.array = shape}), second = k.output({.array = shape});
  const Val semaphore = k.dmaSemaphore();
  k.dma(first, second, semaphore);
  k.store(k.load(x), first);
  const KernelPackage package = k.package();
  EXPECT_FALSE(mustWrite(package)[0]) << "the copy reads what the store has not written yet";
  EXPECT_TRUE(accessesOfOneRun(package.kernelFunction(), {}).arguments[1].readFirst);
}

TEST(ReadBeforeWrite, CopiesOfWrittenMemoryAreNoReadsBefore) {
  TextKernel k;
  const Shape shape{8, 128};
  const Val x = k.input({.array = shape}), first = k.output({.array = shape}), second = k.output({.array = shape});
  const Val semaphore = k.dmaSemaphore();
  k.store(k.load(x), first);
  k.dma(first, second, semaphore);
  EXPECT_TRUE(mustWrite(k.package())[0]);
}

TEST(ReadBeforeWrite, StoresOfPartsThatCoverAResultWriteIt) {
  const auto written = [](const std::vector<int32_t>& starts) -> bool {
    TextKernel k;
    const Val x = k.input({.array = {8, 128}}), o = k.output({.array = {24, 128}});
    for (const int32_t at : starts) k.store(k.load(x), o, {k.constant(at), k.constant(0)});
    return mustWrite(k.package())[0];
  };
  EXPECT_TRUE(written({0, 8, 16}));
  EXPECT_TRUE(written({16, 4, 0, 9}));
  EXPECT_FALSE(written({0, 16})) << "nothing writes rows 8 to 15";
  EXPECT_FALSE(written({0, 8, 15})) << "nothing writes the last row";
}

TEST(ReadBeforeWrite, StoresOfPartsInTheFirstStepOfEachBlockWriteIt) {
  const auto written = [](int axis, bool readsBetween) -> bool {
    TextKernel k({2, 3});
    const Val x = k.input({.array = {8, 128}}),
              o = k.output({.array = {32, 128}, .block = {16, 128}, .map = "%i, %c0"});
    k.when(k.compare("eq", k.id(axis), k.constant(0)), [&] {
      k.store(k.load(x), o, {k.constant(0), k.constant(0)});
      if (readsBetween) k.store(k.load(o, {8, 128}, {k.constant(8), k.constant(0)}), o);
      k.store(k.load(x), o, {k.constant(8), k.constant(0)});
    });
    return mustWrite(k.package())[0];
  };
  EXPECT_TRUE(written(1, false));
  EXPECT_FALSE(written(1, true)) << "rows 8 to 15 are read first";
  EXPECT_FALSE(written(0, false)) << "the second block is never written";
}

/// The number of iterations of a loop whose bounds are 2^64 - 1 apart is not computed in 64 bits.
TEST(ReadBeforeWrite, ALoopOfTheWidestBoundsHasAllItsIterations) {
  TextKernel k({64});
  const Spec rows{.array = {512, 128}, .block = {8, 128}, .map = "%i, %c0"};
  const Val x = k.input(rows), o = k.output(rows), sum = k.scratch("f32", {8, 128});
  k.when(k.compare("eq", k.id(0), k.constant(0)), [&] { k.store(k.splat(k.f32(0), {8, 128}), sum); });
  k.raw("%low = arith.constant -9223372036854775808 : index");
  k.raw("%high = arith.constant 9223372036854775807 : index");
  k.raw("%step = arith.constant 4611686018427387904 : index");
  k.raw("scf.for %at = %low to %high step %step {");
  k.raw("%zero = arith.constant 0 : index");
  k.raw("%inMiddle = arith.cmpi eq, %at, %zero : index");
  k.when({"%inMiddle", "i1"}, [&] {
    k.store(k.binary("arith.addf", k.load(sum), k.load(x)), sum);
    k.store(k.load(sum), o);
  });
  k.raw("}");
  const KernelPackage package = k.package();
  const auto scratch = accessesOfOneRun(package.kernelFunction(), {false}).arguments[3];
  EXPECT_TRUE(scratch.readFirst) << "in the third iteration";
  same(k, {f32Array({512, 128}, [](int64_t) { return 1.0F; })});
}

}  // namespace
}  // namespace smalti::cpu::testing
