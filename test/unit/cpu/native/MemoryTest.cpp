// What kernels find in memory that nobody has written, or that has two names.
#include <gtest/gtest.h>

#include "Native.h"

namespace smalti::cpu::testing {
namespace {

TEST(NativeMemory, AnOutputThatIsReadFirstIsUndefined) {
  TextKernel k;
  const Val out = k.output({.dtype = "i32", .array = {8, 128}, .space = "vmem"});
  k.store(k.load(out), out);
  for (int call = 0; call < 3; ++call) same(k, {});
}

TEST(NativeMemory, AnOutputThatIsReadAfterItsFirstStepIsNot) {
  TextKernel k({2, 3});
  const Val out = k.output({.dtype = "i32", .array = {6, 128}, .block = {3, 128}, .map = "%i, %c0"});
  const Val v = k.splat(k.id(1), {3, 128});
  k.store(k.binary("arith.addi", k.load(out), v), out);
  same(k, {});
}

TEST(NativeMemory, SC9_AWholeOperandAndTheOutputItIsAliasedToAreOneArray) {
  for (const std::string space : {"vmem", "smem"}) {
    TextKernel k;
    const Val in = k.input({.dtype = "i32", .array = {4}, .space = space}),
              out = k.output({.dtype = "i32", .array = {4}, .space = space});
    k.alias(0, 0);
    if (space == "smem") {
      k.scalarStore(k.constant(7), out, {k.constant(0)});
      k.scalarStore(k.scalarLoad(in, {k.constant(0)}), out, {k.constant(1)});
    } else {
      k.store(k.binary("arith.addi", k.load(in), k.load(in)), out);
      k.store(k.binary("arith.addi", k.load(in), k.load(in)), out);
    }
    same(k, {i32Array({4}, [](int64_t i) { return static_cast<int32_t>(i); })});
  }
}

TEST(NativeMemory, SF4_AScalarOperandThatIsAliasedIsLeftToTheMachine) {
  TextKernel k({2});
  const Val at = k.prefetch("i32", {4});
  const Val out = k.output({.dtype = "i32", .array = {4}, .space = "smem"});
  k.alias(0, 0);
  k.scalarStore(k.scalarLoad(at, {k.constant(1)}), out, {k.constant(0)});
  EXPECT_NE(whyNot(k), "");
}

}  // namespace
}  // namespace smalti::cpu::testing
