// Kernels of so many instructions that their loops become functions.
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

TEST(SplitFunctions, OthersStayWhole) {
  const TextKernel k = unrolled(8);
  same(k, {smallNumbers("f32", {2 * 8 * 8, 128})});
  EXPECT_EQ(functionsOf(k), 1);
}

}  // namespace
}  // namespace smalti::cpu::testing
