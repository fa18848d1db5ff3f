// Kernels of several devices as native code: what they copy to and signal each other, as the machine has it.
#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "../../../LongTest.h"
#include "../Native.h"

namespace smalti::cpu::testing {
namespace {

using PerDevice = std::vector<std::vector<Array>>;

std::shared_ptr<const NativeKernel> together(const TextKernel& k) { return native(k, {.devices = true}); }

/// Results of native code, bit by bit those of the machine.
PerDevice sameTogether(const TextKernel& k, const PerDevice& operands) {
  const auto code = together(k);
  if (!code) return {};
  bool fault = false;
  std::vector<std::vector<std::string>> logs;
  auto got = code->callOnDevices(operands, {}, fault, logs);
  EXPECT_TRUE(got) << got.error().str();
  EXPECT_FALSE(fault) << k.text();
  const auto expected = runOn(k, operands);
  EXPECT_TRUE(expected) << expected.error().str();
  if (!got || !expected || fault) return {};
  for (size_t d = 0; d < operands.size(); ++d)
    for (size_t i = 0; i < expected->results[d].size(); ++i)
      EXPECT_EQ(difference((*got)[d][i], expected->results[d][i]), "") << "device " << d << " result " << i;
  return *got;
}

bool faultsTogether(const TextKernel& k, const PerDevice& operands) {
  const auto code = together(k);
  bool fault = false;
  std::vector<std::vector<std::string>> logs;
  if (code) {
    EXPECT_TRUE(code->callOnDevices(operands, {}, fault, logs));
  }
  return fault;
}

PerDevice ramps(int devices, const Shape& shape) {
  PerDevice all;
  for (int d = 0; d < devices; ++d)
    all.push_back({f32Array(shape, [&](int64_t i) { return static_cast<float>(1000 * d + i % 997); })});
  return all;
}

Val plus(TextKernel& k, const Val& a, int32_t b) { return k.binary("arith.addi", a, k.constant(b)); }
/// The device `distance` to the right in a ring.
Val neighbour(TextKernel& k, int devices, int distance) {
  return k.binary("arith.remsi", plus(k, k.deviceId(), devices + distance), k.constant(devices));
}

TEST(NativeDevices, SG7_EachSendsItsBlockToTheRight) {
  for (const int devices : {1, 2, 3, 4}) {
    TextKernel k;
    const Val in = k.input({.array = {16, 128}, .space = "any"}), out = k.output({.array = {16, 128}, .space = "any"}),
              send = k.dmaSemaphore(), receive = k.dmaSemaphore(), right = neighbour(k, devices, 1);
    k.remoteDma(in, send, out, receive, right);
    k.waitSend(in, send, out, receive, right);
    k.waitReceive(in, send, out, receive, right);
    const PerDevice results = sameTogether(k, ramps(devices, {16, 128}));
    if (results.empty()) continue;
    EXPECT_EQ(floats(results[0][0])[1], static_cast<float>(1000 * (devices - 1) + 1));
  }
}

/// Sums around a ring: each step sends what it has to the right, and adds what came from the left. A barrier begins it,
/// and one signal per step says that the buffer is free again.
TextKernel ringSum(int devices, bool withCapacity) {
  TextKernel k;
  const Val in = k.input({.array = {8, 128}}), out = k.output({.array = {8, 128}}), landed = k.scratch("f32", {8, 128}),
            going = k.scratch("f32", {8, 128}), send = k.dmaSemaphore(), receive = k.dmaSemaphore(),
            capacity = k.semaphore(), right = neighbour(k, devices, 1), left = neighbour(k, devices, -1),
            one = k.constant(1);
  const Val barrier = k.barrier();
  k.semSignal(barrier, one, left);
  k.semSignal(barrier, one, right);
  k.semWait(barrier, k.constant(2));
  k.store(k.load(in), going);
  k.store(k.load(in), out);
  k.loop(k.constant(0), k.constant(devices - 1), [&](const Val&) {
    k.remoteDma(going, send, landed, receive, right);
    k.waitSend(going, send, landed, receive, right);
    k.waitReceive(going, send, landed, receive, right);
    k.store(k.load(landed), going);
    k.store(k.binary("arith.addf", k.load(out), k.load(landed)), out);
    if (!withCapacity) return;
    k.semSignal(capacity, one, left);
    k.semWait(capacity, one);
  });
  return k;
}

TEST(NativeDevices, RingSums) {
  SMALTI_LONG_TEST();
  for (const int devices : {2, 3, 5})
    for (int round = 0; round < 20; ++round) {  // schedules differ
      const PerDevice results = sameTogether(ringSum(devices, true), ramps(devices, {8, 128}));
      ASSERT_FALSE(results.empty());
      EXPECT_EQ(floats(results[0][0])[0], static_cast<float>(500 * devices * (devices - 1)));
    }
}

TEST(NativeDevices, GridStepsTalkToo) {
  constexpr int kDevices = 3;
  TextKernel k({4});
  const Val in = k.input({.array = {32, 128}, .space = "any"}), out = k.output({.array = {32, 128}, .space = "any"}),
            send = k.dmaSemaphore(), receive = k.dmaSemaphore({4}), right = neighbour(k, kDevices, 1),
            row = k.binary("arith.muli", k.id(0), k.constant(8)), zero = k.constant(0);
  const Val from = k.slice(in, {row, zero}, {8, 128}), to = k.slice(out, {row, zero}, {8, 128}),
            arrived = k.at(receive, k.id(0));
  k.remoteDma(from, send, to, arrived, right);
  k.waitSend(from, send, to, arrived, right);
  k.waitReceive(from, send, to, arrived, right);
  sameTogether(k, ramps(kDevices, {32, 128}));
}

TEST(NativeDevices, SignalsCarryNumbers) {
  constexpr int kDevices = 4;
  TextKernel k;
  const Val out = k.output({.dtype = "i32", .array = {1}, .space = "smem"}), semaphore = k.semaphore();
  for (int d = 0; d < kDevices; ++d) k.semSignal(semaphore, plus(k, k.deviceId(), 1), k.constant(d));
  k.semWait(semaphore, k.constant(kDevices * (kDevices + 1) / 2));
  k.scalarStore(k.semRead(semaphore), out, {});
  sameTogether(k, PerDevice(kDevices));
}

TEST(NativeDevices, WhatIsReadBeforeAWaitIsTheOldValue) {
  TextKernel k;
  const Val in = k.input({.array = {8, 128}}), out = k.output({.array = {8, 128}}), landed = k.scratch("f32", {8, 128}),
            send = k.dmaSemaphore(), receive = k.dmaSemaphore(), ready = k.semaphore(), other = neighbour(k, 2, 1),
            one = k.constant(1);
  k.store(k.load(in), landed);
  const Val before = k.load(landed);
  k.semSignal(ready, one, other);
  k.semWait(ready, one);
  k.remoteDma(in, send, landed, receive, other);
  k.waitSend(in, send, landed, receive, other);
  k.waitReceive(in, send, landed, receive, other);
  k.store(k.binary("arith.subf", k.load(landed), before), out);
  const PerDevice results = sameTogether(k, ramps(2, {8, 128}));
  ASSERT_FALSE(results.empty());
  EXPECT_EQ(floats(results[0][0])[3], 1000.0f);
  EXPECT_EQ(floats(results[1][0])[3], -1000.0f);
}

TEST(NativeDevices, MemoryOfAScopeIsThereBeforeItsDeviceIs) {
  // Device 0 enters the scope and sends at once; device 1 computes for a while first.
  TextKernel k;
  const Val in = k.input({.array = {8, 128}}), out = k.output({.array = {8, 128}}), send = k.dmaSemaphore(),
            receive = k.dmaSemaphore(), other = neighbour(k, 2, 1);
  k.store(k.load(in), out);
  k.loop(k.constant(0), k.binary("arith.muli", k.deviceId(), k.constant(20000)),
         [&](const Val&) { k.store(k.binary("arith.addf", k.load(out), k.load(in)), out); });
  k.region([&] {
    const Val landed = k.alloc("f32", {8, 128}, "vmem");
    k.remoteDma(in, send, landed, receive, other);
    k.waitSend(in, send, landed, receive, other);
    k.waitReceive(in, send, landed, receive, other);
    k.store(k.load(landed), out);
  });
  for (int round = 0; round < 5; ++round) {
    const PerDevice results = sameTogether(k, ramps(2, {8, 128}));
    ASSERT_FALSE(results.empty());
    EXPECT_EQ(floats(results[1][0])[5], 5.0f);
  }
}

TEST(NativeDevices, AReadThatPollsEndsWhenAnotherDeviceFails) {
  TextKernel k;
  const Val semaphore = k.semaphore(), out = k.output({.dtype = "i32", .array = {1}, .space = "smem"});
  k.scalarStore(k.constant(0), out, {});
  k.loop(k.constant(0), k.binary("arith.muli", k.deviceId(), k.constant(INT32_MAX)),
         [&](const Val&) { k.scalarStore(k.semRead(semaphore), out, {}); });
  k.semWait(semaphore, k.constant(1));  // device 0 waits for ever: device 2 does not exist
  k.semSignal(semaphore, k.constant(1), k.constant(2));
  const auto code = together(k);
  ASSERT_TRUE(code);
  std::atomic<bool> stop{false};
  std::thread watch([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop = true;
  });
  bool fault = false;
  std::vector<std::vector<std::string>> logs;
  EXPECT_TRUE(code->callOnDevices(PerDevice(2), {.stop = &stop}, fault, logs));
  watch.join();
  EXPECT_TRUE(fault);
}

TEST(NativeDevices, SG5_Deadlock) {
  TextKernel k;
  const Val semaphore = k.semaphore();
  k.semWait(semaphore, k.constant(1));
  EXPECT_TRUE(faultsTogether(k, PerDevice(3)));
}

TEST(NativeDevices, ANonexistentDeviceIsAFault) {
  for (const int32_t device : {2, -1}) {
    TextKernel k;
    const Val semaphore = k.semaphore();
    k.semSignal(semaphore, k.constant(1), k.constant(device));
    EXPECT_TRUE(faultsTogether(k, PerDevice(2)));
  }
}

TEST(NativeDevices, OneDeviceRunsTheSameCode) {
  const TextKernel k = ringSum(1, true);
  const auto code = together(k);
  ASSERT_TRUE(code);
  bool fault = false;
  const auto operands = ramps(1, {8, 128})[0];
  auto got = code->call(operands, 1, fault);
  ASSERT_TRUE(got);
  EXPECT_FALSE(fault);
  EXPECT_EQ(difference((*got)[0], operands[0]), "");
}

}  // namespace
}  // namespace smalti::cpu::testing
