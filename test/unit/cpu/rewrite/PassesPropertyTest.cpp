// Every rewrite of random small kernels computes what the kernel computes, by the machine.
#include "cpu/rewrite/Passes.h"

#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "../native/Native.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu::testing {
namespace {

using ::testing::UnorderedElementsAre;

TEST(Passes, HaveUniqueNames) {
  std::set<std::string_view> names;
  for (const RewritePass& pass : rewritePasses()) {
    EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
    EXPECT_EQ(findRewritePass(pass.name), &pass);
    EXPECT_FALSE(pass.summary.empty());
  }
  EXPECT_EQ(findRewritePass("no-such-pass"), nullptr);
}

/// Small whole numbers: their sums are exact in any order.
Array numbers(const Shape& shape, int64_t seed) {
  return f32Array(shape, [=](int64_t i) { return static_cast<float>((i * 7 + seed) % 11 - 5); });
}

struct Kernel {
  TextKernel k;
  std::vector<Array> operands;
};

constexpr int64_t kBlock = 8;

int64_t steps() { return *rc::gen::inRange<int64_t>(1, 4); }
/// An extent that so many blocks cover, the last one perhaps in part.
int64_t extentOf(int64_t steps) {
  return steps * kBlock - (*rc::gen::inRange(0, 3) == 0 ? *rc::gen::inRange<int64_t>(0, kBlock) : 0);
}

Val dot(TextKernel& k, const Val& a, const Val& b, const Val& c) {
  const Val v = k.fresh(fmt::format("vector<{0}x{0}xf32>", kBlock));
  k.raw(
      fmt::format("{0} = tpu.matmul {1}, {2}, {3} {{dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], "
                  "[1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false}} : {4}, {5}, {4} -> {4}",
                  v.name, a.name, b.name, c.name, v.type, b.type));
  return v;
}

/// A sum of products over the last axis, as kernels write it, or nearly so: with mistakes that make it another
/// computation, which rewrites must not take for the usual one.
Kernel someProduct() {
  const int64_t rows = steps(), columns = steps(), depth = steps();
  TextKernel k({rows, columns, depth}, "parallel,parallel,arbitrary");
  const int64_t m = extentOf(rows), n = extentOf(columns), d = depth * kBlock;
  const Val x = k.input({.array = {m, d}, .block = {kBlock, kBlock}, .map = "%i, %k"});
  const Val y = k.input({.array = {d, n}, .block = {kBlock, kBlock}, .map = "%k, %j"});
  const Val o = k.output({.array = {m, n}, .block = {kBlock, kBlock}, .map = "%i, %j"});
  const Val acc = k.scratch("f32", {kBlock, kBlock});
  const auto zeros = [&] { return k.splat(k.f32(0), {kBlock, kBlock}); };
  // Usually what it should be; else anything that is defined.
  const auto usually = [](int64_t right, int64_t most) {
    return *rc::gen::inRange(0, 3) > 0 ? right : *rc::gen::inRange<int64_t>(0, most);
  };
  const int32_t end = static_cast<int32_t>(usually(depth - 1, depth));
  const int startAxis = *rc::gen::inRange(0, 6) == 0 ? 0 : 2;
  const bool scales = *rc::gen::inRange(0, 4) == 0, addsIndex = *rc::gen::inRange(0, 5) == 0,
             everyStep = *rc::gen::inRange(0, 5) == 0, startsAtOne = *rc::gen::inRange(0, 5) == 0;
  k.when(k.compare("eq", k.id(startAxis), k.constant(0)),
         [&] { k.store(startsAtOne ? k.splat(k.f32(1), {kBlock, kBlock}) : zeros(), acc); });
  // What another axis starts is undefined in other steps: the first one of all starts it.
  if (startAxis != 2) k.store(zeros(), acc);
  Val sum = k.binary("arith.addf", k.load(acc), dot(k, k.load(x), k.load(y), zeros()));
  if (scales) sum = k.binary("arith.mulf", sum, k.splat(k.f32(2), {kBlock, kBlock}));
  if (addsIndex) sum = k.binary("arith.addf", sum, k.splat(k.toFloat(k.id(2)), {kBlock, kBlock}));
  k.store(sum, acc);
  const bool usesPlace = *rc::gen::inRange(0, 4) == 0;
  const auto finish = [&] {
    const Val all = k.load(acc);
    k.store(k.binary("arith.addf", all, usesPlace ? k.splat(k.toFloat(k.id(0)), {kBlock, kBlock}) : all), o);
  };
  if (everyStep)
    finish();
  else
    k.when(k.compare("eq", k.id(2), k.constant(end)), finish);
  return {std::move(k), {numbers({m, d}, 1), numbers({d, n}, 3)}};
}

/// Element-wise ops, reductions of rows and places, in blocks that may be partial.
Kernel someElementwise() {
  const int64_t rows = steps(), columns = steps();
  TextKernel k({rows, columns}, "parallel,parallel");
  const int64_t m = extentOf(rows), n = extentOf(columns);
  const bool transposes = *rc::gen::inRange(0, 4) == 0;
  const Spec part{.array = {m, n}, .block = {kBlock, kBlock}, .map = "%i, %j"};
  const Val x = k.input(part);
  const Val y = k.input(transposes && rows == columns && m == n
                            ? Spec{.array = {m, n}, .block = {kBlock, kBlock}, .map = "%j, %i"}
                            : part);
  const Val o = k.output(part);
  std::vector<Val> values{k.load(x), k.load(y)};
  const auto one = [&] { return values[*rc::gen::inRange<size_t>(0, values.size())]; };
  const std::string vector = values[0].type;
  for (int n = *rc::gen::inRange(1, 5); n-- > 0;) switch (*rc::gen::inRange(0, 6)) {
      case 0:
      case 1:
        values.push_back(k.binary("arith.addf", one(), one()));
        break;
      case 2:
        values.push_back(k.binary("arith.mulf", one(), k.splat(k.f32(2), {kBlock, kBlock})));
        break;
      case 3: {  // where the element is in its block
        const Val at = k.fresh(fmt::format("vector<{0}x{0}xi32>", kBlock)), real = k.fresh(vector);
        k.raw(fmt::format("{} = tpu.iota {{dimensions = array<i32: {}>}} : {}", at.name, *rc::gen::inRange(0, 2),
                          at.type));
        k.raw(fmt::format("{} = arith.sitofp {} : {} to {}", real.name, at.name, at.type, vector));
        values.push_back(k.binary("arith.addf", one(), real));
        break;
      }
      case 4:  // which step it is
        values.push_back(
            k.binary("arith.addf", one(), k.splat(k.toFloat(k.id(*rc::gen::inRange(0, 2))), {kBlock, kBlock})));
        break;
      default: {  // the sum of each row of the block
        const std::string row = fmt::format("vector<{}xf32>", kBlock), column = fmt::format("vector<{}x1xf32>", kBlock);
        const Val zero = k.fresh(row), sum = k.fresh(row), up = k.fresh(column), wide = k.fresh(vector);
        k.raw(fmt::format("{} = arith.constant dense<0.0> : {}", zero.name, row));
        k.raw(fmt::format("{} = vector.multi_reduction <add>, {}, {} [1] : {} to {}", sum.name, one().name, zero.name,
                          vector, row));
        k.raw(fmt::format("{} = vector.shape_cast {} : {} to {}", up.name, sum.name, row, column));
        k.raw(fmt::format("{} = vector.broadcast {} : {} to {}", wide.name, up.name, column, vector));
        values.push_back(wide);
      }
    }
  k.store(values.back(), o);
  return {std::move(k), {numbers({m, n}, 1), numbers({m, n}, 4)}};
}

std::vector<Array> run(const KernelPackage& package, const std::vector<Array>& operands) {
  auto compiled = machine::compileKernel(package, Numerics::f32);
  RC_ASSERT(compiled.has_value());
  auto result = machine::run(**compiled, std::vector<std::vector<Array>>{operands}, {}, {});
  RC_ASSERT(result.has_value());
  return result->results.at(0);
}

/// What is undefined is so in both: elements of partial blocks.
bool sameNumbers(const Array& a, const Array& b) {
  for (int64_t i = 0; i < a.elements(); ++i) {
    const float x = a.as<float>()[i], y = b.as<float>()[i];
    if (x != y && !(x != x && y != y)) return false;
  }
  return true;
}

std::map<std::string, int> applied(Kernel (*some)(), int cases) {
  std::map<std::string, int> counts;
  const Processor processor = *processorNamed("x86_64-linux-gnu/znver4");
  EXPECT_TRUE(rc::check([&] {
    for (int n = 0; n < cases; ++n) {
      const Kernel kernel = some();
      const KernelPackage package = kernel.k.package();
      const std::vector<Array> expected = run(package, kernel.operands);
      const auto expectSame = [&](const KernelPackage& made) {
        const std::vector<Array> got = run(made, kernel.operands);
        for (size_t i = 0; i < expected.size(); ++i) RC_ASSERT(sameNumbers(got[i], expected[i]));
      };
      for (const int cores : {1, 3}) {
        for (const RewritePass& pass : rewritePasses())
          if (const auto made = pass.run(package, {processor, cores})) {
            ++counts[std::string(pass.name)];
            expectSame(*made);
          }
        if (const auto made = optimizeGrid(package, {processor, cores})) expectSame(*made);
      }
    }
  }));
  return counts;
}

TEST(Passes, PreserveProducts) {
  const auto counts = applied(someProduct, 3);
  EXPECT_GT(counts.contains("retile-matmul-grid") ? counts.at("retile-matmul-grid") : 0, 30);
}

TEST(Passes, PreserveElementwiseKernels) {
  const auto counts = applied(someElementwise, 3);
  EXPECT_GT(counts.contains("retile-without-padding") ? counts.at("retile-without-padding") : 0, 20);
}

}  // namespace
}  // namespace smalti::cpu::testing
