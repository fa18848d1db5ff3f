// Products of few rows with a matrix of concatenated blocks, which are read in place, a row of each in turn.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../../../LongTest.h"
#include "../SmallProducts.h"
#include "cpu/inspect/Inspect.h"
#include "cpu/plan/KernelPlan.h"

namespace smalti::cpu::testing {
namespace {

struct Product {
  std::string dtype = "f32";
  int64_t m = 1, n = 16, k = 16;  ///< of the whole product
  bool transposed = true;         ///< blocks of columns; else of what is summed
  int blocks = 4;

  Shape left() const { return {m, k}; }
  Shape block() const { return transposed ? Shape{n / blocks, k} : Shape{k / blocks, n}; }
  Shape whole() const { return transposed ? Shape{n, k} : Shape{k, n}; }
  Shape result() const { return {m, n}; }
};

Val concatenated(TextKernel& k, const std::vector<Val>& parts, const std::string& dtype, const Shape& shape) {
  std::string names, types;
  for (const Val& p : parts) {
    names += (names.empty() ? "" : ", ") + p.name;
    types += (types.empty() ? "" : ", ") + p.type;
  }
  const Val all = k.fresh(fmt::format("vector<{}x{}x{}>", shape[0], shape[1], dtype));
  k.raw(fmt::format("{} = tpu.concatenate {} in 0 : {} -> {}", all.name, names, types, all.type));
  return all;
}

/// Every block an input of its own. `computed`: the left operand is not an input, but an f32 rounded to the dtype.
TextKernel product(const Product& p, bool computed = false) {
  TextKernel kernel;
  const Val a = kernel.input({.dtype = computed ? "f32" : p.dtype, .array = p.left(), .space = "vmem"});
  std::vector<Val> refs, loads;
  for (int i = 0; i < p.blocks; ++i)
    refs.push_back(kernel.input({.dtype = p.dtype, .array = p.block(), .space = "vmem"}));
  const Val c = kernel.output({.array = p.result(), .space = "vmem"});
  Val x = kernel.load(a);
  if (computed) {
    const Val doubled = kernel.binary("arith.addf", x, x);
    x = kernel.fresh(fmt::format("vector<{}x{}x{}>", p.m, p.k, p.dtype));
    kernel.raw(fmt::format("{} = arith.truncf {} : {} to {}", x.name, doubled.name, doubled.type, x.type));
  }
  for (const Val& ref : refs) loads.push_back(kernel.load(ref));
  const Val y = concatenated(kernel, loads, p.dtype, p.whole());
  kernel.store(multiplied(kernel, x, y, p.transposed, kernel.splat(kernel.f32(0), p.result())), c);
  return kernel;
}

std::vector<Array> operandsOf(const Product& p) {
  std::vector<Array> all{smallNumbers(p.dtype, p.left())};
  for (int i = 0; i < p.blocks; ++i) all.push_back(smallNumbers(p.dtype, p.block(), 3 * i));
  return all;
}

ProductPlan planOf(const TextKernel& kernel) {
  auto made = inspectNative(kernel.package(), {});
  EXPECT_TRUE(made) << made.error().str();
  return made->report.plan->products.at(0);
}

TEST(ConcatOperand, BlocksOfColumnsAndOfWhatIsSummed) {
  SMALTI_LONG_TEST_OF_GENERATED_CODE();
  for (const char* dtype : {"f32", "bf16"})
    for (const bool transposed : {true, false})
      for (const int64_t m : {1, 3, 8})
        for (const int blocks : {2, 5, 16})
          for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 3}, {16, 128}, {7, 37}, {8, 300}}) {
            const Product p{
                dtype,      m,     transposed ? blocks * rows : columns, transposed ? columns : blocks * rows,
                transposed, blocks};
            SCOPED_TRACE(
                fmt::format("{} {}x{}x{}{} in {}", dtype, m, p.n, p.k, transposed ? " transposed" : "", blocks));
            same(product(p), operandsOf(p));
          }
}

/// Where it is multiplied as f32, it lies in memory as f32.
TEST(ConcatOperand, LeftOperandsThatAreComputed) {
  for (const bool transposed : {true, false})
    for (const int64_t m : {1, 3, 8}) {
      const Product p{"bf16", m, 32, 48, transposed, 4};
      std::vector<Array> operands = operandsOf(p);
      operands[0] = smallNumbers("f32", p.left());
      same(product(p, true), operands);
    }
}

TEST(ConcatOperand, TheirRowsAreReadInterleaved) {
  const ProductPlan dots = planOf(product({.n = 128, .k = 64, .blocks = 8}));
  EXPECT_EQ(dots.strategy(), Strategy::gemvDot);
  EXPECT_EQ(dots.blocksOfB, 8);
  EXPECT_TRUE(dots.interleaves);
  const ProductPlan sums = planOf(product({.n = 64, .k = 128, .transposed = false, .blocks = 8}));
  EXPECT_EQ(sums.strategy(), Strategy::gemvAxpy);
  EXPECT_EQ(sums.blocksOfB, 8);
  EXPECT_TRUE(sums.interleaves);
  // Many rows are worth a copy, and so are more blocks than a processor follows.
  EXPECT_EQ(planOf(product({.m = 16, .n = 128, .k = 64, .blocks = 8})).blocksOfB, 1);
  EXPECT_EQ(planOf(product({.n = 128, .k = 64, .blocks = 32})).blocksOfB, 1);
}

/// A block is the value that was loaded, whatever is stored there before the product or by it.
TEST(ConcatOperand, StoresDoNotReachValuesThatWereLoaded) {
  for (const bool before : {true, false}) {
    TextKernel kernel;
    const Val a = kernel.input({.array = {8, 8}, .space = "vmem"}),
              b = kernel.input({.array = {4, 8}, .space = "vmem"});
    const Val c = kernel.output({.array = {8, 8}, .space = "vmem"}),
              d = kernel.output({.array = {8, 8}, .space = "vmem"});
    const Val x = kernel.load(a), first = kernel.load(b);
    kernel.store(x, c);
    // The whole of an output is a right operand's part here: rows 0 to 3 of it come from the first input.
    const Val old = kernel.load(c);
    const Val top = kernel.fresh(first.type);
    kernel.raw(
        fmt::format("{} = vector.extract_strided_slice {} {{offsets = [0, 0], sizes = [4, 8], strides = [1, 1]}} "
                    ": {} to {}",
                    top.name, old.name, old.type, top.type));
    const Val y = concatenated(kernel, {top, first}, "f32", {8, 8});
    if (before) kernel.store(kernel.splat(kernel.f32(9), {8, 8}), c);
    const Val zero = kernel.splat(kernel.f32(0), {8, 8});
    kernel.store(multiplied(kernel, x, y, true, zero), c);
    kernel.store(old, d);
    same(kernel, {smallNumbers("f32", {8, 8}), smallNumbers("f32", {4, 8}, 5)});
  }
}

/// What the product is added to lies where a block was loaded from.
TEST(ConcatOperand, ProductsThatOverwriteABlock) {
  const Product p{.m = 8, .n = 16, .k = 16, .transposed = false, .blocks = 2};
  TextKernel kernel;
  const Val a = kernel.input({.array = {8, 16}, .space = "vmem"}),
            b = kernel.input({.array = {8, 16}, .space = "vmem"});
  const Val c = kernel.output({.array = {8, 16}, .space = "vmem"});
  kernel.store(kernel.load(b), c);
  const Val x = kernel.load(a), first = kernel.load(c), second = kernel.load(b);
  const Val y = concatenated(kernel, {first, second}, "f32", p.whole());
  const Val r = multiplied(kernel, x, y, p.transposed, kernel.splat(kernel.f32(0), p.result()));
  kernel.store(kernel.binary("arith.addf", r, kernel.load(c)), c);
  same(kernel, {smallNumbers("f32", {8, 16}), smallNumbers("f32", {8, 16}, 5)});
}

}  // namespace
}  // namespace smalti::cpu::testing
