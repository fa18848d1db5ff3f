#include <cmath>

#include <gtest/gtest.h>

#include "../Native.h"

namespace smalti::cpu::testing {
namespace {

Array ramp(Shape shape) {
  return f32Array(std::move(shape), [](int64_t i) { return static_cast<float>(i); });
}
Spec whole(Shape shape, const std::string& space = "any", const std::string& dtype = "f32") {
  return {.dtype = dtype, .array = std::move(shape), .space = space};
}

TEST(NativeSync, SG1_CopyToVmemAndBack) {
  TextKernel k;
  const Val in = k.input(whole({16, 128})), out = k.output(whole({16, 128}, "hbm")),
            buffer = k.scratch("f32", {8, 128}), semaphore = k.dmaSemaphore();
  k.loop(k.constant(0), k.constant(2), [&](const Val& i) {
    const Val row = k.binary("arith.muli", i, k.constant(8)), zero = k.constant(0);
    const Val block = k.slice(in, {row, zero}, {8, 128});
    k.dma(block, buffer, semaphore);
    k.waitDma(block, buffer, semaphore);
    const Val v = k.load(buffer);
    k.store(k.binary("arith.addf", v, v), buffer);
    const Val target = k.slice(out, {row, zero}, {8, 128});
    k.dma(buffer, target, semaphore);
    k.waitDma(buffer, target, semaphore);
  });
  EXPECT_EQ(floats(same(k, {ramp({16, 128})})[0])[5], 10.0f);
}

/// Rows `row` … `row + size` of an array of 20×130, and its last lanes, to VMEM; from there to two outputs.
TextKernel overTheEdge(int64_t row, int64_t size, const std::string& dtype) {
  TextKernel k;
  const Val in = k.input(whole({20, 130}, "any", dtype)), out = k.output(whole({20, 130}, "hbm", dtype)),
            seen = k.output(whole({size, 128}, "vmem", dtype)), buffer = k.scratch(dtype, {size, 128}),
            semaphore = k.dmaSemaphore();
  const std::vector<Val> at{k.constant(static_cast<int32_t>(row)), k.constant(128)};
  const Val from = k.slice(in, at, {size, 128}), to = k.slice(out, at, {size, 128});
  k.dma(from, buffer, semaphore);
  k.waitDma(from, buffer, semaphore);
  k.store(k.load(buffer), seen);
  k.dma(buffer, to, semaphore);
  k.waitDma(buffer, to, semaphore);
  return k;
}

TEST(NativeSync, SB6_CopiesMayReachThePaddingOfTheLastTile) {
  const std::vector<Array> results = same(overTheEdge(16, 8, "f32"), {ramp({20, 130})});
  EXPECT_EQ(floats(results[0])[18 * 130 + 129], 18.0f * 130 + 129);
  EXPECT_EQ(floats(results[1])[2 * 128 + 1], 18.0f * 130 + 129);
  EXPECT_TRUE(std::isnan(floats(results[1])[2 * 128 + 2]) && std::isnan(floats(results[1])[4 * 128]));
  EXPECT_EQ(floats(same(overTheEdge(0, 24, "f32"), {ramp({20, 130})})[1])[19 * 128 + 1], 19.0f * 130 + 129);
  for (const DType t : {DType::bf16, DType::i8}) {
    auto operand = Array::allocate({t, {20, 130}}).value();
    for (int64_t i = 0; i < operand.bytes(); ++i) operand.data()[i] = std::byte(static_cast<uint8_t>(i % 100));
    same(overTheEdge(16, 8, std::string(name(t))), {operand});
  }
}

TEST(NativeSync, SD11_CopiesBeyondTheLastTileFault) {
  EXPECT_TRUE(faults(overTheEdge(16, 9, "f32"), {ramp({20, 130})}));
  EXPECT_TRUE(faults(overTheEdge(20, 4, "f32"), {ramp({20, 130})}));
  EXPECT_TRUE(faults(overTheEdge(-1, 8, "f32"), {ramp({20, 130})}));
}

TEST(NativeSync, SG2_DmaSemaphoresCountBytes) {
  TextKernel k;
  const Val in = k.input(whole({8, 128}, "any", "bf16")), out = k.output(whole({1}, "smem", "i32")),
            buffer = k.scratch("bf16", {8, 128}), semaphore = k.dmaSemaphore();
  k.dma(in, buffer, semaphore);
  k.scalarStore(k.semRead(semaphore), out, {});
  k.waitDma(in, buffer, semaphore);
  auto operand = Array::allocate({DType::bf16, {8, 128}}).value();
  std::fill_n(operand.data(), operand.bytes(), std::byte{0});
  EXPECT_EQ(ints(same(k, {operand})[0])[0], 2048);
}

TEST(NativeSync, SG3_RegularSemaphoresCountCopies) {
  TextKernel k;
  const Val in = k.input(whole({8, 128})), out = k.output(whole({1}, "smem", "i32")),
            buffer = k.scratch("f32", {8, 128}), semaphore = k.semaphore();
  k.dma(in, buffer, semaphore);
  k.scalarStore(k.semRead(semaphore), out, {});
  k.waitDma(in, buffer, semaphore);
  EXPECT_EQ(ints(same(k, {ramp({8, 128})})[0])[0], 1);
}

TEST(NativeSync, SemaphoresOfAllKinds) {
  TextKernel k;
  const Val out = k.output(whole({4}, "smem", "i32")), array = k.semaphore({3});
  const Val barrier = k.barrier(), second = k.at(array, k.constant(1));
  k.semSignal(barrier, k.constant(2), k.deviceId());
  k.semSignal(second, k.constant(7));
  k.semWait(second, k.constant(3));
  k.region([&] {
    const Val own = k.semAlloc("!tpu.semaphore");
    k.semSignal(own, k.constant(5));
    k.scalarStore(k.semRead(own), out, {k.constant(3)});
    k.semWait(own, k.constant(5));
  });
  k.scalarStore(k.semRead(k.at(array, k.constant(0))), out, {k.constant(0)});
  k.scalarStore(k.semRead(second), out, {k.constant(1)});
  k.scalarStore(k.semRead(barrier), out, {k.constant(2)});
  k.semWait(barrier, k.constant(2));
  EXPECT_EQ(ints(same(k, {})[0]), (std::vector<int32_t>{0, 4, 2, 5}));
}

TEST(NativeSync, AWaitThatBlocksIsAFault) {
  TextKernel k;
  const Val out = k.output(whole({1}, "smem", "i32")), semaphore = k.semaphore();
  k.scalarStore(k.constant(1), out, {});
  k.semWait(semaphore, k.constant(1));
  EXPECT_TRUE(faults(k, {}));
}

TEST(NativeSync, AnotherDeviceIsLeftToTheMachine) {
  TextKernel k;
  const Val out = k.output(whole({1}, "smem", "i32")), semaphore = k.semaphore();
  k.scalarStore(k.constant(1), out, {});
  k.semSignal(semaphore, k.constant(1), k.constant(1));
  EXPECT_EQ(whyNot(k), "it copies to another device or core, or signals it");
}

TEST(NativeSync, RemoteCopyToItself) {
  TextKernel k;
  const Val in = k.input(whole({8, 128})), out = k.output(whole({8, 128})), send = k.dmaSemaphore(),
            receive = k.dmaSemaphore(), self = k.deviceId();
  k.remoteDma(in, send, out, receive, self);
  k.waitSend(in, send, out, receive, self);
  k.waitReceive(in, send, out, receive, self);
  EXPECT_EQ(floats(same(k, {ramp({8, 128})})[0])[9], 9.0f);
}

TEST(NativeSync, AliasedArraysAreOne) {
  TextKernel k;
  const Val in = k.input(whole({16, 128})), out = k.output(whole({16, 128})), semaphore = k.dmaSemaphore();
  k.alias(0, 0);
  const Val zero = k.constant(0);
  const auto rows = [&](const Val& ref, int first) { return k.slice(ref, {k.constant(first), zero}, {8, 64}); };
  for (const auto& [from, to] : {std::pair{0, 4}, std::pair{2, 8}}) {  // through the output, then the input again
    k.dma(rows(in, from), rows(out, to), semaphore);
    k.waitDma(rows(in, from), rows(out, to), semaphore);
  }
  same(k, {ramp({16, 128})});
}

TEST(NativeSync, OperandsThatTheKernelWritesAreCopies) {
  TextKernel k;
  const Val in = k.input(whole({8, 128})), vmem = k.input(whole({8, 128}, "vmem")),
            out = k.output(whole({8, 128}, "vmem")), semaphore = k.dmaSemaphore();
  const Val p = k.f32(3.0);
  k.store(k.splat(p, {8, 128}), vmem);
  k.dma(vmem, in, semaphore);
  k.waitDma(vmem, in, semaphore);
  k.dma(in, out, semaphore);
  k.waitDma(in, out, semaphore);
  EXPECT_EQ(floats(same(k, {ramp({8, 128}), ramp({8, 128})})[0])[9], 3.0f);
}

TEST(NativeSync, InputBlocksThatTheKernelWritesAreCopies) {
  TextKernel k({2, 2});
  const Val a = k.input({.array = {16, 128}, .block = {8, 128}, .map = "%i, %c0"}),
            o = k.output({.array = {16, 256}, .block = {8, 128}, .map = "%i, %j"});
  const Val v = k.load(a);
  k.store(k.binary("arith.addf", v, v), a);
  k.store(k.load(a), o);
  same(k, {ramp({16, 128})});
}

Val dynamicSlice(TextKernel& k, const Val& ref, const Val& start, const Val& size, int64_t columns) {
  const Val v = k.fresh("memref<?x" + std::to_string(columns) + "xf32, #tpu.memory_space<" +
                        (ref.type.find("any") != std::string::npos ? "any" : "vmem") + ">>");
  const Val zero = k.constant(0);
  k.raw(v.name + " = \"tpu.memref_slice\"(" + ref.name + ", " + start.name + ", " + zero.name + ", " + size.name +
        ") <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (" + ref.type + ", i32, i32, i32) -> " + v.type);
  return v;
}

/// Two rows of `in` arrive one by one in buffers of one row; one wait, for `n` rows of the first, takes both.
TextKernel waitsForRows(bool alsoCopies) {
  TextKernel k;
  const Val sizes = k.prefetch("i32", {1}), in = k.input(whole({2, 128})), out = k.output(whole({2, 128}, "vmem")),
            first = k.scratch("f32", {1, 128}), second = k.scratch("f32", {1, 128}), semaphore = k.dmaSemaphore();
  const Val n = k.scalarLoad(sizes, {}), zero = k.constant(0), one = k.constant(1);
  k.dma(k.slice(in, {zero, zero}, {1, 128}), first, semaphore);
  k.dma(k.slice(in, {one, zero}, {1, 128}), second, semaphore);
  const Val both = dynamicSlice(k, first, zero, n, 128);
  k.waitDma(both, both, semaphore);
  if (alsoCopies) {
    k.dma(in, both, semaphore);
    k.waitDma(in, both, semaphore);
  }
  k.store(k.load(first), k.slice(out, {one, zero}, {1, 128}));
  k.store(k.load(second), k.slice(out, {zero, zero}, {1, 128}));
  return k;
}

TEST(NativeSync, ASliceUsedOnlyByAWaitMayExceedItsRef) {
  const auto rows = [](int32_t n) { return i32Array({1}, [n](int64_t) { return n; }); };
  const Array got = same(waitsForRows(false), {rows(2), ramp({2, 128})})[0];
  EXPECT_EQ(floats(got)[0], 128.0f);
  EXPECT_EQ(floats(got)[128], 0.0f);
  EXPECT_TRUE(faults(waitsForRows(false), {rows(3), ramp({2, 128})}));  // nobody copies a third
  EXPECT_TRUE(faults(waitsForRows(false), {rows(-1), ramp({2, 128})}));
  EXPECT_TRUE(faults(waitsForRows(true), {rows(2), ramp({2, 128})}));
}

TEST(NativeSync, NothingIsCopiedFromAnywhere) {
  for (const int32_t start : {-32, 17, 1 << 30}) {
    TextKernel k;
    const Val at = k.prefetch("i32", {2}), in = k.input(whole({16, 128})), out = k.output(whole({16, 128})),
              semaphore = k.dmaSemaphore();
    k.dma(in, out, semaphore);
    k.waitDma(in, out, semaphore);
    const Val row = k.scalarLoad(at, {k.constant(0)}), n = k.scalarLoad(at, {k.constant(1)});
    const Val from = dynamicSlice(k, in, row, n, 128), to = dynamicSlice(k, out, k.constant(0), n, 128);
    k.dma(from, to, semaphore);
    k.waitDma(from, to, semaphore);
    const auto copied = [&](int32_t rows) {
      return std::vector{i32Array({2}, [=](int64_t i) { return i == 0 ? start : rows; }), ramp({16, 128})};
    };
    same(k, copied(0));
    EXPECT_TRUE(faults(k, copied(1)));
  }
}

TEST(NativeSync, SlicesOfDynamicSizes) {
  for (const int32_t rows : {0, 3, 8, 9}) {
    TextKernel k;
    const Val sizes = k.prefetch("i32", {1}), in = k.input(whole({16, 128})), out = k.output(whole({16, 128})),
              buffer = k.scratch("f32", {8, 128}), semaphore = k.dmaSemaphore();
    k.dma(in, out, semaphore);
    k.waitDma(in, out, semaphore);
    const Val n = k.scalarLoad(sizes, {}), five = k.constant(5), zero = k.constant(0);
    const Val from = dynamicSlice(k, in, five, n, 128), to = dynamicSlice(k, buffer, zero, n, 128),
              back = dynamicSlice(k, out, zero, n, 128);
    k.dma(from, to, semaphore);
    k.waitDma(from, to, semaphore);
    k.dma(to, back, semaphore);
    k.waitDma(to, back, semaphore);
    const std::vector<Array> operands{i32Array({1}, [&](int64_t) { return rows; }), ramp({16, 128})};
    if (rows > 8)
      EXPECT_TRUE(faults(k, operands));
    else
      same(k, operands);
  }
}

TEST(NativeSync, IterationBoundsAndIds) {
  TextKernel k({3, 5});
  const Val out = k.output({.dtype = "i32", .array = {3}, .map = "", .space = "smem"});
  k.scalarStore(k.iterationBound(0), out, {k.constant(0)});
  k.scalarStore(k.iterationBound(1), out, {k.constant(1)});
  k.scalarStore(k.deviceId(), out, {k.constant(2)});
  EXPECT_EQ(ints(same(k, {})[0]), (std::vector<int32_t>{3, 5, 0}));
}

}  // namespace
}  // namespace smalti::cpu::testing
