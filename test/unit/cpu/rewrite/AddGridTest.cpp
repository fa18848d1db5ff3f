// Kernels without a grid, divided into steps that threads share.
#include "../../LongTest.h"
#include "cpu/rewrite/grid/AddGrid.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "RandomRewrites.h"

namespace smalti::cpu::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string vectorType(const Shape& shape) { return fmt::format("vector<{}xf32>", fmt::join(shape, "x")); }

/// The sums along dimension `d`, with a size of 1 there.
Val sums(TextKernel& k, const Val& v, const Shape& shape, int d) {
  Shape kept = shape, one = shape;
  kept.erase(kept.begin() + d);
  one[static_cast<size_t>(d)] = 1;
  const Val zero = k.splat(k.f32(0), kept), sum = k.fresh(vectorType(kept)), up = k.fresh(vectorType(one));
  k.raw(fmt::format("{} = vector.multi_reduction <add>, {}, {} [{}] : {} to {}", sum.name, v.name, zero.name, d, v.type,
                    sum.type));
  k.raw(fmt::format("{} = vector.shape_cast {} : {} to {}", up.name, sum.name, sum.type, up.type));
  return up;
}

Val broadcast(TextKernel& k, const Val& v, const Shape& to) {
  const Val wide = k.fresh(vectorType(to));
  k.raw(fmt::format("{} = vector.broadcast {} : {} to {}", wide.name, v.name, v.type, wide.type));
  return wide;
}

Val product(TextKernel& k, const Val& a, const Val& b, const Shape& result) {
  const Val c = k.splat(k.f32(0), result), v = k.fresh(c.type);
  k.raw(
      fmt::format("{} = tpu.matmul {}, {}, {} {{dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, "
                  "0, 1, 1], [], []>, transpose_lhs_hint = false}} : {}, {}, {} -> {}",
                  v.name, a.name, b.name, c.name, a.type, b.type, c.type, v.type));
  return v;
}

TextKernel elementwise(const Shape& shape, const Shape& row) {
  TextKernel k;
  const Val x = k.input({.array = shape}), w = k.input({.array = row}), o = k.output({.array = shape});
  k.store(k.binary("arith.addf", k.load(x), broadcast(k, k.load(w), shape)), o);
  return k;
}

TextKernel matmul(int64_t m, int64_t n, int64_t depth) {
  TextKernel k;
  const Val x = k.input({.array = {m, depth}}), y = k.input({.array = {depth, n}}), o = k.output({.array = {m, n}});
  k.store(product(k, k.load(x), k.load(y), {m, n}), o);
  return k;
}

TEST(AddGrid, RowsAreDividedAndWhatTheyShareStaysWhole) {
  const auto made = divideIntoSteps(elementwise({64, 256}, {1, 256}).package(), 4);
  ASSERT_TRUE(made);
  EXPECT_THAT(made->signature.grid, ElementsAre(4));
  EXPECT_THAT(made->signature.windows[0]->bounds, ElementsAre(16, 256));
  EXPECT_THAT(made->signature.windows[1]->bounds, ElementsAre(1, 256));
  EXPECT_THAT(made->signature.windows[2]->bounds, ElementsAre(16, 256));
}

TEST(AddGrid, TheOutermostDimensionWithEnoughPartsIsDivided) {
  const auto grid = [](const Shape& shape) {
    const auto made = divideIntoSteps(elementwise(shape, {1, 1, shape[2]}).package(), 8);
    return made ? made->signature.grid : std::vector<int64_t>();
  };
  EXPECT_THAT(grid({64, 16, 8}), ElementsAre(8, 1));
  EXPECT_THAT(grid({2, 64, 8}), ElementsAre(1, 8));
  EXPECT_THAT(grid({2, 4, 512}), ElementsAre(1, 4)) << "never the last one";
  EXPECT_THAT(grid({1, 1, 512}), IsEmpty());
}

TEST(AddGrid, TheLastRowsMayBeAPartialBlock) {
  const auto made = divideIntoSteps(elementwise({61, 32}, {1, 32}).package(), 3);
  ASSERT_TRUE(made);
  EXPECT_THAT(made->signature.grid, ElementsAre(3));
  EXPECT_THAT(made->signature.windows[0]->bounds, ElementsAre(24, 32));
}

TEST(AddGrid, OneProductGetsAxesForRowsAndColumns) {
  const auto made = divideIntoSteps(matmul(64, 128, 32).package(), 4);
  ASSERT_TRUE(made);
  EXPECT_THAT(made->signature.grid, ElementsAre(1, 1)) << "retile-matmul-grid divides them";
  const KernelPackage package = matmul(512, 512, 512).package();
  const auto all = runRewritePasses(package, {*processorNamed("x86_64-linux-gnu/znver4"), 2});
  ASSERT_TRUE(all);
  EXPECT_THAT(all->signature.grid, ElementsAre(1, 8));
}

TEST(AddGrid, ALittleWorkStaysInOneStep) {
  const KernelPackage small = elementwise({64, 256}, {1, 256}).package(),
                      large = elementwise({1024, 1024}, {1, 1024}).package();
  EXPECT_FALSE(addGrid(small, 16));
  EXPECT_FALSE(addGrid(large, 1)) << "one core";
  EXPECT_THAT(addGrid(large, 2)->signature.grid, ElementsAre(8));
  EXPECT_THAT(addGrid(large, 16)->signature.grid, ElementsAre(16)) << "512 KiB a step";
}

TEST(AddGrid, ResultsThatNeedAllRowsAreNotDivided) {
  TextKernel k;
  const Val x = k.input({.array = {64, 32}}), o = k.output({.array = {64, 32}});
  const Val v = k.load(x);
  k.store(k.binary("arith.subf", v, broadcast(k, sums(k, v, {64, 32}, 0), {64, 32})), o);
  EXPECT_FALSE(divideIntoSteps(k.package(), 4));
}

TEST(AddGrid, AResultThatEveryStepWouldWriteIsNotDivided) {
  TextKernel k;
  const Val x = k.input({.array = {64, 32}}), w = k.input({.array = {1, 32}}), o = k.output({.array = {64, 32}}),
            same = k.output({.array = {1, 32}});
  k.store(k.load(x), o);
  k.store(k.load(w), same);
  EXPECT_FALSE(divideIntoSteps(k.package(), 4));
}

/// Arithmetic, sums along dimensions, positions, products, transposes and loads of parts, of whole arrays.
Kernel someWhole() {
  const int64_t m = *rc::gen::inRange<int64_t>(1, 40), n = *rc::gen::inRange(0, 3) == 0 ? m : 8;
  TextKernel k;
  const Shape shape{m, n};
  const Val x = k.input({.array = shape}), w = k.input({.array = {1, n}}), y = k.input({.array = {n, n}});
  std::vector<Val> outputs{k.output({.array = shape})};
  if (*rc::gen::inRange(0, 3) == 0) outputs.push_back(k.output({.array = shape}));
  std::vector<Val> values{k.load(x), broadcast(k, k.load(w), shape)};
  const auto one = [&] { return values[*rc::gen::inRange<size_t>(0, values.size())]; };
  for (int count = *rc::gen::inRange(1, 5); count-- > 0;) switch (*rc::gen::inRange(0, 12)) {
      case 0:
        values.push_back(broadcast(k, sums(k, one(), shape, 0), shape));
        break;
      case 1:
      case 2:
      case 3:
        values.push_back(broadcast(k, sums(k, one(), shape, 1), shape));
        break;
      case 4:
      case 5:
        values.push_back(product(k, one(), k.load(y), shape));
        break;
      case 6: {
        const Val at = k.fresh(fmt::format("vector<{}x{}xi32>", m, n)), real = k.fresh(vectorType(shape));
        k.raw(fmt::format("{} = tpu.iota {{dimensions = array<i32: {}>}} : {}", at.name, *rc::gen::inRange(0, 2),
                          at.type));
        k.raw(fmt::format("{} = arith.sitofp {} : {} to {}", real.name, at.name, at.type, real.type));
        values.push_back(k.binary("arith.addf", one(), real));
        break;
      }
      case 7:
        if (m == n) {
          const Val turned = k.fresh(vectorType(shape)), v = one();
          k.raw(fmt::format("{} = tpu.transpose {}, [1, 0] : {} -> {}", turned.name, v.name, v.type, turned.type));
          values.push_back(turned);
        }
        break;
      case 8:  // a row of x for all
        values.push_back(broadcast(
            k, k.load(x, {1, n}, {k.constant(*rc::gen::inRange<int32_t>(0, static_cast<int32_t>(m))), k.constant(0)}),
            shape));
        break;
      case 9:
        if (m == n) values.push_back(k.load(y));
        break;
      default:
        values.push_back(k.binary("arith.addf", one(), one()));
    }
  for (const Val& o : outputs) k.store(one(), o);
  return {std::move(k), {numbers(shape, 1), numbers({1, n}, 4), numbers({n, n}, 2)}};
}

TEST(AddGrid, StepsOfRandomKernelsComputeWhatOneStepComputes) {
  SMALTI_LONG_TEST();
  int divided = 0, kept = 0;
  EXPECT_TRUE(rc::check([&] {
    for (int n = 0; n < 4; ++n) {
      const Kernel kernel = someWhole();
      const KernelPackage package = kernel.k.package();
      const auto made = divideIntoSteps(package, *rc::gen::inRange<int64_t>(2, 6));
      ++(made ? divided : kept);
      if (made) requireSame(package, *made, kernel.operands);
    }
  }));
  EXPECT_GT(divided, 50);
  EXPECT_GT(kept, 50);
}

}  // namespace
}  // namespace smalti::cpu::testing
