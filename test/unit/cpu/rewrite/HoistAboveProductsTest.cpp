// Ops between a product and its store come before the product, so that the product is computed where it is stored.
#include "cpu/rewrite/HoistAboveProducts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../native/Native.h"
#include "cpu/analysis/ProductStore.h"
#include "ir/TpuOpsMxu.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu::testing {
namespace {

constexpr int64_t kSize = 16;

Array numbers(int64_t seed) {
  return f32Array({kSize, kSize}, [=](int64_t i) { return static_cast<float>((i * 7 + seed) % 11 - 5); });
}

Val dot(TextKernel& k, const Val& a, const Val& b) {
  const Val zero = k.splat(k.f32(0), {kSize, kSize}), v = k.fresh(a.type);
  k.raw(
      fmt::format("{0} = tpu.matmul {1}, {2}, {3} {{dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], "
                  "[1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false}} : {4}, {4}, {4} -> {4}",
                  v.name, a.name, b.name, zero.name, v.type));
  return v;
}

/// The number of products that are next to their stores.
int adjacent(const KernelPackage& package) {
  int count = 0;
  package.kernelFunction().walk([&](tpu::MatmulOp op) {
    const auto store = findProductStore(*op);
    count += store && opsBetween(*op, *store).empty();
  });
  return count;
}

struct Arrays {
  Val x, y, o;
};
Arrays arrays(TextKernel& k) {
  const Spec whole{.array = {kSize, kSize}, .space = "vmem"};
  return {k.input(whole), k.input(whole), k.output(whole)};
}

TEST(HoistAboveProducts, LoadsAndArithmeticComeBeforeTheProduct) {
  TextKernel k;
  const auto [x, y, o] = arrays(k);
  k.store(k.splat(k.f32(3), {kSize, kSize}), o);
  const Val product = dot(k, k.load(x), k.load(y));
  const Val before = k.load(o);
  k.store(k.binary("arith.addf", before, product), o);
  const KernelPackage package = k.package();
  EXPECT_EQ(adjacent(package), 0);
  const auto made = hoistAboveProducts(package);
  ASSERT_TRUE(made);
  EXPECT_EQ(adjacent(*made), 1);
  EXPECT_FALSE(hoistAboveProducts(*made)) << "nothing is left to move";
  same(k, {numbers(1), numbers(4)});
}

TEST(HoistAboveProducts, OfTwoProductsThatAreAddedOneIsNextToTheStore) {
  TextKernel k;
  const auto [x, y, o] = arrays(k);
  const Val a = k.load(x), b = k.load(y);
  const Val first = dot(k, a, b), second = dot(k, b, a);
  k.store(k.binary("arith.addf", first, second), o);
  const auto made = hoistAboveProducts(k.package());
  ASSERT_TRUE(made);
  EXPECT_EQ(adjacent(*made), 1);
  same(k, {numbers(2), numbers(5)});
}

TEST(HoistAboveProducts, StoresAreNotPassed) {
  TextKernel k;
  const auto [x, y, o] = arrays(k);
  const Val a = k.load(x), b = k.load(y), product = dot(k, a, b);
  const Val scratch = k.scratch("f32", {kSize, kSize});
  k.store(a, scratch);
  k.store(k.binary("arith.addf", k.load(scratch), product), o);
  EXPECT_FALSE(hoistAboveProducts(k.package()));
  same(k, {numbers(3), numbers(6)});
}

TEST(HoistAboveProducts, AProductWithOtherUsersStays) {
  TextKernel k;
  const auto [x, y, o] = arrays(k);
  const Val product = dot(k, k.load(x), k.load(y));
  const Val old = k.load(x);
  const Val sum = k.binary("arith.addf", product, product);
  k.store(k.binary("arith.addf", sum, old), o);
  EXPECT_FALSE(hoistAboveProducts(k.package()));
  same(k, {numbers(7), numbers(8)});
}

}  // namespace
}  // namespace smalti::cpu::testing
