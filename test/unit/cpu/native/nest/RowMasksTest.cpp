// Kernels that compute rows of which masked stores take some: the others are not computed.
#include <gtest/gtest.h>

#include "../../../LongTest.h"
#include "../RowKernels.h"
#include "../SmallProducts.h"
#include "cpu/inspect/Inspect.h"
#include "cpu/plan/KernelPlan.h"

namespace smalti::cpu::testing {
namespace {

constexpr int64_t kRows = 32, kKeys = 64, kSize = 128;

struct Case {
  int64_t group = 4;          ///< rows of a group
  bool storesScores = false;  ///< everything is wanted: the scores are also stored as they are
  std::string keep = "andi";  ///< how the comparisons of the mask are combined
  std::string from = "sge";   ///< how rows are compared with the first group
  bool loadsLate = false;     ///< the last group is not known before the products
  int64_t countedAlong = 0;   ///< the dimension whose indices the mask compares
};

/// The rows' groups, as JAX divides by a positive number: with the correction for negative ones.
Val groupOfRow(TextKernel& k, const Case& c) {
  const Val row = k.fresh("vector<32x128xi32>");
  k.raw(fmt::format("{} = tpu.iota {{dimensions = array<i32: {}>}} : {}", row.name, c.countedAlong, row.type));
  const Val group = k.splat(k.constant(static_cast<int32_t>(c.group)), {kRows, kSize}),
            zero = k.splat(k.constant(0), {kRows, kSize}), one = k.splat(k.constant(1), {kRows, kSize});
  const Val quotient = k.binary("arith.divsi", row, group), rest = k.binary("arith.remsi", row, group);
  const Val negative = k.fresh("vector<32x128xi1>"), uneven = k.fresh(negative.type), chosen = k.fresh(row.type);
  k.raw(fmt::format("{} = arith.cmpi slt, {}, {} : {}", negative.name, row.name, zero.name, row.type));
  k.raw(fmt::format("{} = arith.cmpi ne, {}, {} : {}", uneven.name, rest.name, zero.name, row.type));
  const Val both = k.binary("arith.andi", negative, uneven), less = k.binary("arith.subi", quotient, one);
  k.raw(fmt::format("{} = arith.select {}, {}, {} : {}, {}", chosen.name, both.name, less.name, quotient.name,
                    both.type, row.type));
  return chosen;
}

/// o = (f(q kᵀ) v + the sum of each row of f(q kᵀ)) in groups [begin, end), elsewhere what it was. f(s) = s - its row's
/// largest element.
TextKernel someRows(const Case& c) {
  TextKernel k;
  const Val begin = k.prefetch("i32", {1}), end = k.prefetch("i32", {1});
  const Val q = k.input({.array = {kRows, kSize}, .space = "vmem"}),
            keys = k.input({.array = {kKeys, kSize}, .space = "vmem"}),
            values = k.input({.array = {kKeys, kSize}, .space = "vmem"}),
            before = k.input({.array = {kRows, kSize}, .space = "vmem"});
  const Val o = k.output({.array = {kRows, kSize}, .space = "vmem"}),
            scores = k.output({.array = {kRows, kKeys}, .space = "vmem"});
  k.store(k.load(before), o);
  k.store(k.splat(k.f32(0), {kRows, kKeys}), scores);
  const Val first = k.scalarLoad(begin, {k.constant(0)});
  const Val bound = c.loadsLate ? Val{} : k.scalarLoad(end, {k.constant(0)});
  const Val s = multiplied(k, k.load(q), k.load(keys), true, k.splat(k.f32(0), {kRows, kKeys}));
  if (c.storesScores) k.store(s, scores);
  const Val largest = reducedRows(k, "maximumf", s, {kRows, kKeys}, -1e30f);
  const Val f = k.binary("arith.subf", s, largest);
  const Val sum = reducedRows(k, "add", f, {kRows, kKeys}, 0);
  const Val weighted = multiplied(k, f, k.load(values), false, k.splat(k.f32(0), {kRows, kSize}));
  const Val narrow = k.fresh("vector<32x1xf32>"), spread = k.fresh("vector<32x128xf32>");
  k.raw(fmt::format(
      "{} = vector.extract_strided_slice {} {{offsets = [0, 0], sizes = [32, 1], strides = [1, 1]}} : {} to {}",
      narrow.name, sum.name, sum.type, narrow.type));
  k.raw(fmt::format("{} = vector.broadcast {} : {} to {}", spread.name, narrow.name, narrow.type, spread.type));
  const Val out = k.binary("arith.addf", weighted, spread);
  // What the last group is computed from is known before the products.
  const Val last = k.binary("arith.minsi", c.loadsLate ? k.scalarLoad(end, {k.constant(0)}) : bound, k.constant(100));
  const Val group = groupOfRow(k, c);
  const Val reaches = k.fresh("vector<32x128xi1>"), stops = k.fresh(reaches.type);
  k.raw(fmt::format("{} = arith.cmpi {}, {}, {} : {}", reaches.name, c.from, group.name,
                    k.splat(first, {kRows, kSize}).name, group.type));
  k.raw(fmt::format("{} = arith.cmpi slt, {}, {} : {}", stops.name, group.name, k.splat(last, {kRows, kSize}).name,
                    group.type));
  const Val mask = k.binary("arith." + c.keep, reaches, stops);
  k.raw(fmt::format(
      "%zero = arith.constant 0 : index\n\"tpu.vector_store\"({}, {}, %zero, %zero, {}) <{{operandSegmentSizes = "
      "array<i32: 1, 1, 2, 1>, strides = array<i32>, add = false}}> : ({}, {}, index, index, {}) -> ()",
      out.name, o.name, mask.name, out.type, o.type, mask.type));
  return k;
}

/// Products for which there is code that multiplies some of the rows.
int64_t productsOfFewRows(const TextKernel& k) {
  const auto made = inspectNative(k.package(), {});
  EXPECT_TRUE(made) << made.error().str();
  return made ? llvm::count_if(made->report.plan->products, [](const ProductPlan& p) { return p.shape.m < kRows; })
              : -1;
}

void check(const Case& c) {
  const TextKernel k = someRows(c);
  for (const int32_t begin : {-3, 0, 5, 40})
    for (const int32_t end : {-1, 2, 8, 50}) {
      SCOPED_TRACE(fmt::format("groups {} to {} of {} rows", begin, end, c.group));
      same(k, {i32Array({1}, [=](int64_t) { return begin; }), i32Array({1}, [=](int64_t) { return end; }),
               smallNumbers("f32", {kRows, kSize}), smallNumbers("f32", {kKeys, kSize}, 3),
               smallNumbers("f32", {kKeys, kSize}, 5), smallNumbers("f32", {kRows, kSize}, 7)});
    }
}

TEST(RowMasks, OthersAreNotMultiplied) {
  SMALTI_LONG_TEST_OF_GENERATED_CODE();
  for (const int64_t group : {1, 2, 4, 8}) {
    check({.group = group});
    EXPECT_EQ(productsOfFewRows(someRows({.group = group})), 2);
  }
}

TEST(RowMasks, RowsStoredElsewhereAreComputed) {
  SMALTI_LONG_TEST_OF_GENERATED_CODE();
  check({.storesScores = true});
  EXPECT_EQ(productsOfFewRows(someRows({.storesScores = true})), 1);
}

TEST(RowMasks, OtherMasksLimitNothing) {
  SMALTI_LONG_TEST_OF_GENERATED_CODE();
  for (const Case& c : {Case{.keep = "ori"}, Case{.keep = "xori"}, Case{.from = "sgt"}, Case{.from = "sle"},
                        Case{.group = 3}, Case{.loadsLate = true}, Case{.countedAlong = 1}}) {
    check(c);
    EXPECT_EQ(productsOfFewRows(someRows(c)), 0);
  }
}

/// Rows of memory that a mask keeps are read where they are if it keeps all of them.
enum class Memory : uint8_t { input, scratch, overwritten };

/// q xᵀ, where rows of x from `count` on are 0.
TextKernel maskedRows(Memory memory) {
  TextKernel k;
  const Val count = k.prefetch("i32", {1});
  const Val q = k.input({.array = {kRows, kSize}, .space = "vmem"}),
            x = k.input({.array = {kKeys, kSize}, .space = "vmem"}),
            o = k.output({.array = {kRows, kKeys}, .space = "vmem"});
  const Val copy = k.scratch("f32", {kKeys, kSize});
  if (memory != Memory::input) k.store(k.load(x), copy);
  const Val loaded = k.load(memory == Memory::input ? x : copy);
  const Val row = k.fresh("vector<64x128xi32>"), mask = k.fresh("vector<64x128xi1>"), kept = k.fresh(loaded.type);
  k.raw(fmt::format("{} = tpu.iota {{dimensions = array<i32: 0>}} : {}", row.name, row.type));
  k.raw(fmt::format("{} = arith.cmpi slt, {}, {} : {}", mask.name, row.name,
                    k.splat(k.scalarLoad(count, {k.constant(0)}), {kKeys, kSize}).name, row.type));
  k.raw(fmt::format("{} = arith.select {}, {}, {} : {}, {}", kept.name, mask.name, loaded.name,
                    k.splat(k.f32(0), {kKeys, kSize}).name, mask.type, kept.type));
  if (memory == Memory::overwritten) k.store(k.splat(k.f32(7), {kKeys, kSize}), copy);
  k.store(multiplied(k, k.load(q), kept, true, k.splat(k.f32(0), {kRows, kKeys})), o);
  return k;
}

TEST(RowMasks, UnmaskedRowsComeFromMemory) {
  for (const Memory memory : {Memory::input, Memory::scratch, Memory::overwritten})
    for (const int32_t count : {-1, 0, 10, 63, 64, 100}) {
      SCOPED_TRACE(fmt::format("memory {}, {} rows", static_cast<int>(memory), count));
      same(maskedRows(memory), {i32Array({1}, [=](int64_t) { return count; }), smallNumbers("f32", {kRows, kSize}),
                                smallNumbers("f32", {kKeys, kSize}, 3)});
    }
}

}  // namespace
}  // namespace smalti::cpu::testing
