// Debug prints and random numbers, and arrays that kernels store otherwise.
#include <gtest/gtest.h>

#include "Native.h"

namespace smalti::cpu::testing {
namespace {

std::vector<std::string> log(const TextKernel& kernel, const std::vector<Array>& operands) {
  auto code = native(kernel);
  bool fault = false;
  std::vector<std::string> lines;
  if (code) {
    EXPECT_TRUE(code->call(operands, 1, fault, &lines));
  }
  EXPECT_FALSE(fault);
  auto expected = runOn(kernel, {operands});
  EXPECT_TRUE(expected);
  if (expected) {
    EXPECT_EQ(lines, expected->log);
  }
  return lines;
}

TEST(NativeEffects, DebugPrints) {
  TextKernel k({2});
  const Val in = k.input({.array = {2, 3}, .space = "vmem"}),
            out = k.output({.dtype = "i32", .array = {1}, .space = "smem"});
  k.raw("\"tpu.log\"(" + k.id(0).name + ") <{tag = \"step $s0\", formatted = true}> : (i32) -> ()");
  const Val v = k.load(in);
  k.raw("\"tpu.log\"(" + v.name + ") <{tag = \"x = \", formatted = false}> : (" + v.type + ") -> ()");
  k.store(k.binary("arith.addf", v, v), in);
  k.raw("\"tpu.log_buffer\"(" + in.name + ") <{tag = \"ref: \", shape = array<i64: 2, 2>}> : (" + in.type + ") -> ()");
  k.scalarStore(k.constant(1), out, {});
  const auto lines = log(k, {f32Array({2, 3}, [](int64_t i) { return static_cast<float>(i); })});
  EXPECT_EQ(lines.size(), 6u);
}

TEST(NativeEffects, SL2_TheSameRandomNumbers) {
  TextKernel k({2});
  const Val out = k.output({.dtype = "i32", .array = {2, 130}, .space = "vmem"});
  const auto draw = [&](int row) {
    const Val v = k.fresh("vector<1x130xi32>");
    k.raw(v.name + " = \"tpu.prng_random_bits\"() : () -> vector<1x130xi32>");
    k.store(v, out, {k.constant(row), k.constant(0)});
  };
  draw(0);
  const Val seed = k.constant(17);
  k.raw("\"tpu.prng_set_seed_32\"(" + k.id(0).name + ", " + seed.name + ") : (i32, i32) -> ()");
  draw(1);
  const auto code = native(k);
  const auto first = same(k, {});
  bool fault = false;
  auto again = code->call({}, 1, fault);  // every call starts anew
  auto third = code->call({}, 1, fault);
  ASSERT_TRUE(again && third);
  EXPECT_EQ(difference((*third)[0], first[0]), "");
}

TEST(NativeEffects, UnsignedElementsBelowAByteEnterAndLeave) {
  TextKernel k;
  const Val in = k.input({.dtype = "u4", .array = {8, 128}, .space = "vmem"}),
            out = k.output({.dtype = "u4", .array = {8, 128}, .space = "vmem"}),
            half = k.output({.dtype = "u4", .array = {8, 128}, .space = "vmem"});
  k.store(k.load(in), out);
  const Val zero = k.constant(0);
  k.store(k.load(in, {4, 128}, {zero, zero}), half);
  auto operand = Array::allocate({DType::u4, {8, 128}}).value();
  for (int64_t i = 0; i < 1024; ++i) operand.data()[i] = static_cast<std::byte>(i % 16);
  same(k, {operand});
}

}  // namespace
}  // namespace smalti::cpu::testing
