// Kernels of so many instructions that their loops, and the pieces between them, become functions.
#include <functional>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../native/RowKernels.h"
#include "../native/SmallProducts.h"
#include "cpu/inspect/Inspect.h"

namespace smalti::cpu::testing {
namespace {

/// Blocks of eight rows, each computed by ops of its own, as if a loop over them had been unrolled: the rows' own
/// squares, the sum so far, and every seventh time the row sums.
TextKernel unrolled(int64_t blocks) {
  TextKernel k({2}, "\"arbitrary\"");
  const Spec rows{.dtype = "f32", .array = {2 * 8 * blocks, 128}, .block = {8 * blocks, 128}, .map = "%i, %c0"};
  const Val x = k.input(rows), o = k.output(rows);
  k.raw("%none = arith.constant 0 : index");
  Val sum{};
  for (int64_t i = 0; i < blocks; ++i) {
    const Val at = k.fresh("index"), v = k.fresh("vector<8x128xf32>");
    k.raw(fmt::format("{} = arith.constant {} : index", at.name, 8 * i));
    k.raw(fmt::format("{} = vector.load {}[{}, %none] : {}, {}", v.name, x.name, at.name, x.type, v.type));
    Val result = k.binary("arith.mulf", v, v);
    sum = i == 0 ? v : k.binary("arith.addf", sum, v);
    result = k.binary("arith.subf", result, sum);
    if (i % 7 == 0) result = k.binary("arith.mulf", result, reducedRows(k, "add", result, {8, 128}, 0));
    k.raw(fmt::format("vector.store {}, {}[{}, %none] : {}, {}", result.name, o.name, at.name, o.type, v.type));
  }
  return k;
}

int64_t functionsOf(const TextKernel& k) {
  const auto made = inspectNative(k.package(), {});
  EXPECT_TRUE(made);
  if (!made) return 0;
  int64_t count = 0;
  for (size_t at = made->optimised.find("\ndefine "); at != std::string::npos;
       at = made->optimised.find("\ndefine ", at + 1))
    ++count;
  return count;
}

TEST(SplitFunctions, LargeKernelsComputeTheSame) {
  constexpr int64_t kBlocks = 800;
  const TextKernel k = unrolled(kBlocks);
  same(k, {smallNumbers("f32", {2 * 8 * kBlocks, 128})});  // sums are exact in any order
  const int64_t functions = functionsOf(k);
  EXPECT_GT(functions, 2);
  EXPECT_LT(functions, kBlocks) << "equal loops are one function";
}

/// Steps without loops: scalars that depend on all before, conditions, and stores to places that are computed.
void addSteps(TextKernel& k, const Val& x, const Val& o, int64_t count) {
  const Val zero = k.constant(0), three = k.constant(3), mask = k.constant(63);
  Val sum = zero;
  for (int64_t i = 0; i < count; ++i) {
    const Val at = k.constant(static_cast<int32_t>(i % 64));
    const Val v = k.scalarLoad(x, {zero, at});
    sum = k.binary("arith.addi", k.binary("arith.muli", sum, three), v);
    k.when(k.compare("sgt", sum, v), [&] {
      const Val place = k.binary("arith.andi", sum, mask);
      k.scalarStore(k.binary("arith.addi", k.scalarLoad(o, {zero, place}), v), o, {zero, place});
    });
  }
  k.scalarStore(sum, o, {zero, zero});
}

struct Scalars {
  TextKernel k;
  Val x, o;
};

/// `repeats`: a loop around the steps.
Scalars straight(int64_t steps, bool repeats, const std::function<void(Scalars&)>& after = {}) {
  Scalars s{TextKernel(), {}, {}};
  s.x = s.k.input({.dtype = "i32", .array = {1, 64}, .block = {1, 64}, .map = "%c0, %c0", .space = "smem"});
  s.o = s.k.output({.dtype = "i32", .array = {1, 64}, .block = {1, 64}, .map = "%c0, %c0", .space = "smem"});
  const Val zero = s.k.constant(0);
  for (int i = 0; i < 64; ++i) s.k.scalarStore(s.k.constant(i), s.o, {zero, s.k.constant(i)});
  if (repeats)
    s.k.loop(zero, s.k.scalarLoad(s.x, {zero, zero}), [&](const Val&) { addSteps(s.k, s.x, s.o, steps); });
  else
    addSteps(s.k, s.x, s.o, steps);
  if (after) after(s);
  return s;
}

Array scalars(int32_t first) {
  return i32Array({1, 64}, [&](int64_t i) { return i == 0 ? first : static_cast<int32_t>(i * i % 17 - 5); });
}

TEST(SplitFunctions, StraightCodeComputesTheSame) {
  for (const bool repeats : {false, true}) {
    const Scalars s = straight(1500, repeats);
    same(s.k, {scalars(3)});
    EXPECT_GT(functionsOf(s.k), functionsOf(straight(20, repeats).k) + 4);
  }
}

/// A store outside, behind the pieces and before others, is found in each.
TEST(SplitFunctions, FaultsInsidePiecesEndTheCall) {
  const Scalars s = straight(800, false, [](Scalars& all) {
    const Val zero = all.k.constant(0);
    all.k.scalarStore(zero, all.o, {zero, all.k.scalarLoad(all.x, {zero, zero})});
    addSteps(all.k, all.x, all.o, 800);
  });
  same(s.k, {scalars(63)});
  EXPECT_TRUE(faults(s.k, {scalars(64)}));
}

TEST(SplitFunctions, OthersStayWhole) {
  const TextKernel k = unrolled(8);
  same(k, {smallNumbers("f32", {2 * 8 * 8, 128})});
  EXPECT_EQ(functionsOf(k), 1);
}

}  // namespace
}  // namespace smalti::cpu::testing
