// S-F, S-K, S-L and the rest of run: operands, prefetch, limits, debug prints, random bits.
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "TextKernel.h"

namespace smalti::machine::testing {
namespace {

TextKernel addKernel() {
  TextKernel k({4});
  const Spec s{.array = {32, 128}, .block = {8, 128}, .map = "%i, %c0"};
  const Val x = k.input(s), y = k.input(s), o = k.output(s);
  k.store(k.binary("arith.addf", k.load(x), k.load(y)), o);
  return k;
}

TEST(Run, VectorAdd) {
  const Array x = counting({32, 128});
  const auto out = floats(results(addKernel(), {x, x})[0]);
  for (int64_t i = 0; i < x.elements(); ++i) ASSERT_EQ(out[i], 2.f * static_cast<float>(i));
}

TEST(Run, SF1_KernelOrderIsPrefetchInputsOutputsScratch) {
  TextKernel k({1});
  const Val p = k.prefetch("i32", {1});
  const Val x = k.input({.dtype = "i32", .array = {1}, .block = {1}, .map = "%c0", .space = "smem"});
  const Val o = k.output({.dtype = "i32", .array = {1}, .block = {1}, .map = "%c0", .space = "smem"});
  const Val s = k.scratch("i32", {1}, "smem");
  k.scalarStore(k.binary("arith.muli", k.scalarLoad(p, {}), k.constant(10)), s, {});
  k.scalarStore(k.binary("arith.addi", k.scalarLoad(s, {}), k.scalarLoad(x, {})), o, {});
  auto one = [](int32_t v) { return i32Array({1}, [=](int64_t) { return v; }); };
  EXPECT_EQ(ints(results(k, {one(3), one(4)})[0])[0], 34);
}

TEST(Run, SF2_PrefetchRefsAreReadAtDynamicIndicesIndirectly) {
  TextKernel k({3});
  const Val p = k.prefetch("i32", {3}), q = k.prefetch("i32", {3});
  const Val o = k.output({.dtype = "i32", .array = {3}, .block = {1}, .map = "%i", .space = "smem"});
  k.scalarStore(k.scalarLoad(q, {k.scalarLoad(p, {k.id(0)})}), o, {});
  const Array order = i32Array({3}, [](int64_t i) { return static_cast<int32_t>(2 - i); });
  const Array values = i32Array({3}, [](int64_t i) { return static_cast<int32_t>(7 * i); });
  EXPECT_EQ(ints(results(k, {order, values})[0]), (std::vector<int32_t>{14, 7, 0}));
}

TEST(Run, SF3_IndexMapsReadScalarsOfPrefetchRefs) {
  TextKernel k({2});
  k.prefetch("i32", {2});
  const Val x = k.input({.array = {4, 4},
                         .block = {1, 4},
                         .map = "%b, %c0",
                         .lines = "%n = arith.index_cast %i : i32 to index\n%b = memref.load %p0[%n] : memref<2xi32, "
                                  "#tpu.memory_space<smem>>"});
  const Val o = k.output({.array = {2, 4}, .block = {1, 4}, .map = "%i, %c0"});
  k.store(k.load(x), o);
  const Array rows = i32Array({2}, [](int64_t i) { return static_cast<int32_t>(3 - 2 * i); });
  const auto out = floats(results(k, {rows, counting({4, 4})})[0]);
  EXPECT_EQ(out[0], 12.f);
  EXPECT_EQ(out[4], 4.f);
}

TEST(Run, SF4_AnOutputMayBeAliasedToAPrefetchOperand) {
  TextKernel k({1});
  const Val p = k.prefetch("i32", {2});
  const Val o = k.output({.dtype = "i32", .array = {2}, .block = {1}, .map = "%c0", .space = "smem"});
  k.scalarStore(k.binary("arith.addi", k.scalarLoad(p, {k.constant(1)}), k.constant(1)), o, {});
  k.alias(0, 0);
  const Array x = i32Array({2}, [](int64_t i) { return static_cast<int32_t>(5 + i); });
  EXPECT_EQ(ints(results(k, {x})[0]), (std::vector<int32_t>{7, 6}));
}

TEST(Run, SF5_OperandOrderIsDynamicBoundsPrefetchInputs) {
  TextKernel k({kDynamicBound});
  const Val p = k.prefetch("i32", {1});
  const Val x = k.input({.dtype = "i32", .array = {2}, .block = {1}, .map = "%i", .space = "smem"});
  const Val o = k.output({.dtype = "i32", .array = {2}, .block = {1}, .map = "%i", .space = "smem"});
  k.scalarStore(k.binary("arith.addi", k.scalarLoad(p, {}), k.scalarLoad(x, {})), o, {});
  const Array ten = i32Array({1}, [](int64_t) { return 10; }), in = i32Array({2}, [](int64_t i) { return i; });
  EXPECT_EQ(ints(results(k, {i32Scalar(2), ten, in})[0]), (std::vector<int32_t>{10, 11}));
  const auto wrong = runOn(k, {{ten, i32Scalar(2), in}});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, "SM4056");
}

TEST(Run, OperandsNeedElementAlignment) {
  alignas(8) std::array<char, 32 * 128 * 4 + 1> bytes{};
  const Array x = counting({32, 128});
  for (char* data : {static_cast<char*>(nullptr), bytes.data() + 1}) {
    const auto wrong = runOn(addKernel(), {{x, Array::view({DType::f32, {32, 128}}, data)}});
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().str(),
              fmt::format(R"(error[SM4056]: operand 1 has no memory that is aligned for its elements
   in kernel 'kernel'
  need: an address that is a multiple of 4
  have: {:#x}
  help: copy it to an array of its own: Array::allocate
)",
                          reinterpret_cast<uintptr_t>(data)));
  }
}

TEST(Run, SM4104_AGridLongerThanTheStepLimitIsNotTried) {
  TextKernel k({3000000000000000000, 3000000000000000000, kDynamicBound});
  const auto message = [&](int32_t steps) {
    const auto r = runOn(k, {{i32Scalar(steps)}}, {.stepLimit = 1000000000});
    return r ? std::string() : r.error().str();
  };
  EXPECT_EQ(message(7), R"(error[SM4104]: the grid has more steps than the step limit
   in kernel 'kernel'
  need: at most 1000000000 instructions and grid steps
  have: a grid of 3000000000000000000 x 3000000000000000000 x 7
  help: make the grid smaller, or raise the step limit
)");
  EXPECT_EQ(message(0), "");
  EXPECT_EQ(message(-7), "");
}

TEST(Run, SK1_HloSemanticsGiveTheSameForInBoundsKernels) {
  const Array x = counting({32, 128});
  MachineOptions hlo;
  hlo.semantics = Semantics::hlo;
  EXPECT_EQ(floats(results(addKernel(), {x, x}, hlo)[0]), floats(results(addKernel(), {x, x})[0]));
}

TEST(Run, SL2_RandomBitsFollowTheSeedWords) {
  TextKernel k({3});
  const Val o = k.output({.dtype = "i32", .array = {3, 8, 128}, .block = {1, 8, 128}, .map = "%i, %c0, %c0"});
  const Val seed = k.binary("arith.divsi", k.id(0), k.constant(2));  // 0, 0, 1
  k.raw("\"tpu.prng_set_seed_32\"(" + seed.name + ") : (i32) -> ()");
  const Val bits = k.fresh("vector<1x8x128xi32>");
  k.raw(bits.name + " = \"tpu.prng_random_bits\"() : () -> " + bits.type);
  k.store(bits, o);
  const auto out = ints(results(k, {})[0]);
  EXPECT_TRUE(std::equal(out.begin(), out.begin() + 1024, out.begin() + 1024));
  EXPECT_FALSE(std::equal(out.begin(), out.begin() + 1024, out.begin() + 2048));
}

TEST(Run, SL4_ADebugPrintIsALogLine) {
  TextKernel k({2});
  k.raw("\"tpu.log\"(%i) <{tag = \"step\", formatted = false}> : (i32) -> ()");
  const auto r = runOn(k, {{}});
  ASSERT_TRUE(r) << r.error().str();
  ASSERT_EQ(r->log.size(), 2u);
  EXPECT_THAT(r->log[0], ::testing::StartsWith("d0: step"));
}

TEST(Run, SL6_AllocationsInsideTheKernelStartUndefinedEveryTime) {
  TextKernel k({2});
  const Val o = k.output({.array = {2, 4}, .block = {1, 4}, .map = "%i, %c0"});
  k.region([&] {
    const Val v = k.alloc("f32", {1, 4});
    k.store(k.load(v), o);
    k.store(k.splat(k.f32(1), {1, 4}), v);
  });
  const auto out = floats(results(k, {})[0]);
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_TRUE(std::isnan(out[4]));
}

TEST(Run, UnsignedSubByteArraysAreZeroExtendedOutsideAndSignExtendedInside) {
  TextKernel k({1});
  const Spec s{.dtype = "u4", .array = {2, 4}, .block = {2, 4}, .map = "%c0, %c0"};
  const Val x = k.input(s), o = k.output(s);
  k.store(k.load(x), o);
  Array in = Array::allocate({DType::u4, {2, 4}}).value();
  for (int i = 0; i < 8; ++i) in.as<uint8_t>()[i] = static_cast<uint8_t>(i + 8);
  const auto out = results(k, {in});
  EXPECT_EQ(out[0].dtype(), DType::u4);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(out[0].as<uint8_t>()[i], i + 8);
}

TEST(Run, WithoutAGridVmemOperandsAreWholeArraysAndAliasesShareThem) {
  TextKernel k;
  const Val x = k.input({.array = {2, 4}}), o = k.output({.array = {2, 4}});
  k.store(k.binary("arith.addf", k.load(o), k.load(x)), o);
  k.alias(0, 0);
  EXPECT_EQ(floats(results(k, {counting({2, 4})})[0])[7], 14.f);
}

TEST(Run, SK1_AWholeAliasedOutputInTheCoreIsACopyAndHloKeepsWindowedOnesApart) {
  MachineOptions hlo;
  hlo.semantics = Semantics::hlo;
  TextKernel whole;  // the input is read after the output was written
  const Val x = whole.input({.array = {2, 4}}), o = whole.output({.array = {2, 4}});
  whole.store(whole.splat(whole.f32(3), {2, 4}), o);
  whole.store(whole.binary("arith.addf", whole.load(o), whole.load(x)), o);
  whole.alias(0, 0);
  EXPECT_EQ(floats(results(whole, {counting({2, 4})}, hlo)[0])[7], 10.f);
  EXPECT_EQ(floats(results(whole, {counting({2, 4})})[0])[7], 10.f);

  TextKernel windowed({2});  // both steps show the same block
  const Spec s{.array = {1, 4}, .block = {1, 4}, .map = "%c0, %c0"};
  const Val in = windowed.input(s), out = windowed.output(s);
  windowed.store(windowed.binary("arith.addf", windowed.load(out), windowed.load(in)), out);
  windowed.alias(0, 0);
  EXPECT_EQ(floats(results(windowed, {counting({1, 4})}, hlo)[0])[3], 9.f);
}

TEST(Run, AnInputThatTheKernelWritesIsCopied) {
  TextKernel k;
  const Val x = k.input({.array = {2, 4}}), o = k.output({.array = {2, 4}});
  k.store(k.splat(k.f32(9), {2, 4}), x);
  k.store(k.load(x), o);
  const Array in = counting({2, 4});
  EXPECT_EQ(floats(results(k, {in})[0])[0], 9.f);
  EXPECT_EQ(floats(in)[0], 0.f);
}

TEST(Run, TheMemoryLimitIsRefused) {
  MachineOptions options;
  options.memoryLimitBytes = 20'000;
  const Array x = counting({32, 128});
  const auto r = runOn(addKernel(), {{x, x}}, options);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, "SM9002");
  EXPECT_EQ(r.error().have, "a limit of 20000 bytes");
}

TEST(Run, ValuesCountAgainstTheMemoryLimit) {
  const Array x = counting({32, 128});
  const int64_t values = runOn(addKernel(), {{x, x}})->statistics.valueBytes;
  ASSERT_GT(values, 0);
  MachineOptions options;
  const int64_t arrays = (32 + 3 * 8) * 128 * 4;   // the output and three windows
  options.memoryLimitBytes = arrays + values + 8;  // and the barrier semaphore
  EXPECT_TRUE(runOn(addKernel(), {{x, x}}, options));
  options.memoryLimitBytes = arrays + values - 1;
  const auto r = runOn(addKernel(), {{x, x}}, options);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().message, "the memory limit is reached by the kernel's values");
}

TEST(Run, StatisticsCountStepsAndCopies) {
  const Array x = counting({32, 128});
  const auto r = runOn(addKernel(), {{x, x}});
  ASSERT_TRUE(r) << r.error().str();
  EXPECT_EQ(r->statistics.gridSteps, 4);
  EXPECT_EQ(r->statistics.windowFetches, 8);
  EXPECT_EQ(r->statistics.windowWriteBacks, 4);
  EXPECT_EQ(r->statistics.peakWindowBytes, 3 * 8 * 128 * 4);
  EXPECT_GT(r->statistics.instructions, 4);
  EXPECT_GT(r->statistics.valueBytes, 0);
}

TEST(Run, TheSameSeedGivesTheSameRun) {
  const Array x = counting({32, 128});
  EXPECT_EQ(floats(results(addKernel(), {x, x})[0]), floats(results(addKernel(), {x, x})[0]));
}

}  // namespace
}  // namespace smalti::machine::testing
