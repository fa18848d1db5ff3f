// What plain ops become for native code: how many kernels, and the same numbers.
#include "lang/fuse/Fuse.h"

#include <gtest/gtest.h>

#include <cmath>

#include "driver/program/RunProgram.h"
#include "lang/call/TraceProgram.h"
#include "smalti/smalti.h"

namespace pl = smalti;
using pl::Array;
using namespace smalti::lang;
using Arrays = std::vector<Array>;

namespace {

Array some(pl::Shape shape, int seed) { return pl::normal(pl::random_key(seed), std::move(shape)); }

size_t count(const std::vector<pl::Op>& ops, std::string_view name) {
  size_t n = 0;
  for (const pl::Op& op : ops) {
    n += op.name == name;
    for (const pl::Block& block : op.regions) n += count(block.ops, name);
  }
  return n;
}

/// The program with groups as kernels, whose results are compared with those of its single ops.
TracedFunction fusedAndCompared(const std::function<Arrays(std::span<const Array>)>& f, const Arrays& inputs) {
  std::vector<pl::ArrayType> types;
  for (const Array& a : inputs) types.push_back(a.type());
  const TracedFunction traced = traceFunction(f, types), made = fused(traced);
  pl::driver::RunSettings settings;
  settings.compile.target = "cpu";
  const auto one = pl::driver::runProgram(programOf(traced), inputs, settings);
  const auto other = pl::driver::runProgram(programOf(made), inputs, settings);
  EXPECT_TRUE(one.has_value()) << one.error().str();
  EXPECT_TRUE(other.has_value()) << other.error().str();
  if (!one || !other) return made;
  for (size_t i = 0; i < one->results.size(); ++i) {
    const Array &a = one->results[i], &b = other->results[i];
    EXPECT_EQ(a.type(), b.type());
    if (a.dtype() != pl::f32) continue;
    float largest = 1;  // of numbers that cancel in sums
    for (int64_t k = 0; k < a.elements(); ++k) largest = std::max(largest, std::abs(a.as<float>()[k]));
    for (int64_t k = 0; k < a.elements(); ++k) {
      const float x = a.as<float>()[k], y = b.as<float>()[k];
      EXPECT_NEAR(x, y, 4e-6 * largest) << "result " << i << ", element " << k;
      if (!(std::abs(x - y) <= 4e-6 * largest)) return made;
    }
  }
  return made;
}

TEST(Fuse, ShiftedProductsAreOneKernel) {
  const auto f = [](std::span<const Array> in) {
    Array sum = pl::zeros({24, 200});
    for (int64_t k = 0; k < 5; ++k)
      sum = sum + pl::slice(in[0], {0, k}, {24, 200 + k}) * pl::slice(in[1], {k}, {k + 1});
    return Arrays{pl::relu(sum)};
  };
  const TracedFunction made = fusedAndCompared(f, {some({24, 204}, 0), some({5}, 1)});
  EXPECT_EQ(count(made.function.ops, "kernel_call"), 1U);
  EXPECT_EQ(count(made.function.ops, "slice"), 0U);
}

TEST(Fuse, SlicesOfRowsAndColumnsAreReadWhereTheyLie) {
  // 37 rows have no block that divides them but themselves and one.
  const auto stencil = [](std::span<const Array> in) {
    const auto at = [&](int64_t i, int64_t j) { return pl::slice(in[0], {i, j}, {i + 37, j + 130}); };
    return Arrays{at(1, 1) * 4.0f - at(0, 1) - at(2, 1) - at(1, 0) - at(1, 2)};
  };
  const TracedFunction made = fusedAndCompared(stencil, {some({39, 132}, 2)});
  EXPECT_EQ(count(made.function.ops, "kernel_call"), 1U);
  EXPECT_EQ(count(made.function.ops, "slice"), 0U);
}

TEST(Fuse, SlicesOfAListOfNumbers) {
  const auto f = [](std::span<const Array> in) {
    return Arrays{pl::slice(in[0], {1}, {2001}) - pl::slice(in[0], {0}, {2000})};
  };
  const TracedFunction made = fusedAndCompared(f, {some({2001}, 3)});
  EXPECT_EQ(count(made.function.ops, "kernel_call"), 1U);
}

TEST(Fuse, SlicesThatAreNoPiecesOfRowsStay) {
  const auto f = [](std::span<const Array> in) {
    const Array part = pl::slice(in[0], {0, 1, 2}, {4, 9, 34}), strided = pl::slice(in[1], {0, 0}, {16, 128}, {2, 1});
    return Arrays{pl::sin(part) * 2.0f, pl::cos(strided) + 1.0f};
  };
  const TracedFunction made = fusedAndCompared(f, {some({4, 10, 40}, 4), some({16, 128}, 5)});
  EXPECT_EQ(count(made.function.ops, "slice"), 2U);
}

TEST(Fuse, AdjacentGroupsMergeUnlessAnOpIntervenes) {
  const auto meet = [](std::span<const Array> in) {
    const Array a = pl::sin(in[0]) * 2.0f, b = pl::cos(in[1]) + 1.0f;
    return Arrays{a * b, b};
  };
  const Array x = some({32, 128}, 6), y = some({32, 128}, 7);
  EXPECT_EQ(count(fusedAndCompared(meet, {x, y}).function.ops, "kernel_call"), 1U);
  const auto between = [](std::span<const Array> in) {
    const Array a = pl::sin(in[0]), b = pl::dot(a, in[2]);
    return Arrays{a * pl::tanh(b * in[1])};
  };
  EXPECT_EQ(count(fusedAndCompared(between, {x, y, some({128, 128}, 8) / 8}).function.ops, "kernel_call"), 3U);
}

Arrays recurrence(std::span<const Array> in, bool reverse) {
  const auto step = [&](const Array& h, const Array& x) {
    const Array next = pl::tanh(pl::dot(h, in[1]) + x);
    return std::pair{next, pl::sum(next, 1)};
  };
  const auto [last, sums] = pl::scan(step, pl::zeros({8, 128}), in[0], {.reverse = reverse});
  return {last, sums};
}

TEST(Fuse, WhatFewArraysGiveIsComputedAgain) {
  const auto f = [](std::span<const Array> in) {
    const Array x = pl::dot(in[0], in[1]);
    const Array a = pl::tanh(x), b = pl::exp(a) * x, c = a * b + 1;
    const Array y = pl::dot(a * b * c, in[2]);
    return Arrays{y, pl::dot(y, in[2]) * a * (b + c)};  // a, b, c again, of x
  };
  const TracedFunction made = fusedAndCompared(f, {some({64, 32}, 0), some({32, 64}, 1) / 8, some({64, 64}, 2) / 8});
  size_t results = 0;
  for (const pl::Op& op : made.function.ops)
    if (op.name == "kernel_call") results += op.results.size();
  EXPECT_EQ(count(made.function.ops, "kernel_call"), 5u);
  EXPECT_EQ(results, 5u);
}

TEST(Fuse, SeveralOpsOnFewElementsAreOneKernel) {
  const Arrays few{some({8}, 0), some({8}, 1)};
  const auto many = [](std::span<const Array> in) { return Arrays{pl::tanh(in[0] * in[1] + in[0]) - in[1]}; };
  EXPECT_EQ(count(fusedAndCompared(many, few).function.ops, "kernel_call"), 1u);
  const auto one = [](std::span<const Array> in) { return Arrays{in[0] * in[1]}; };
  EXPECT_EQ(count(fusedAndCompared(one, few).function.ops, "kernel_call"), 0u);
}

TEST(Fuse, AScanIsOneKernelWhoseGridIsItsSteps) {
  for (const bool reverse : {false, true}) {
    const TracedFunction made = fusedAndCompared([=](std::span<const Array> in) { return recurrence(in, reverse); },
                                                 {some({6, 8, 128}, 8), some({128, 128}, 9) / 8});
    EXPECT_EQ(count(made.function.ops, "while"), 0U);
    EXPECT_EQ(count(made.function.ops, "kernel_call"), 1U);
  }
}

/// The next carry, or what a step stores, need not be computed in the step.
TEST(Fuse, AScanMayReturnValuesFromOutside) {
  const Array outer = some({8, 128}, 3), steps = some({5, 8, 128}, 4);
  const auto carry = [](std::span<const Array> in) {
    const auto [last, sums] =
        pl::scan([&](const Array& c, const Array& x) { return std::pair{in[0], c + x}; }, pl::zeros({8, 128}), in[1]);
    return Arrays{last, sums};
  };
  EXPECT_EQ(count(fusedAndCompared(carry, {outer, steps}).function.ops, "kernel_call"), 1U);
  const auto constant = [](std::span<const Array> in) {
    const auto [last, sums] =
        pl::scan([](const Array& c, const Array& x) { return std::pair{pl::full({8, 128}, 2.0f), c + x}; },
                 pl::zeros({8, 128}), in[0]);
    return Arrays{last, sums};
  };
  fusedAndCompared(constant, {steps});
  const auto stored = [](std::span<const Array> in) {
    const auto step = [&](const Array& i, const Array& c) { return pl::dynamic_update_slice(c, in[0], {i, 0, 0}); };
    return Arrays{pl::fori_loop(0, 5, step, in[1])};
  };
  fusedAndCompared(stored, {some({1, 8, 128}, 3), steps});
  const auto unchanged = [](std::span<const Array> in) {
    const auto step = [](const Array& c, const Array& x) { return std::pair{c, c}; };
    const auto [last, all] = pl::scan(step, in[0], in[1]);
    return Arrays{last, all};
  };
  fusedAndCompared(unchanged, {outer, steps});
}

/// Of no steps: the carry is the first one, and the gradient of a loop passes through.
TEST(Fuse, AScanMayHaveNoSteps) {
  const auto scanned = [](const Array& x) {
    const auto [last, products] =
        pl::scan([](const Array& c, const Array& a) { return std::pair{c * a, c + a}; }, pl::full({}, 3.0f), x);
    return last + pl::sum(products);
  };
  EXPECT_EQ(Array(pl::jit(scanned)(pl::ones({0}))).as<float>()[0], 3);
  const auto looped = [](const Array& x) {
    return pl::sum(pl::fori_loop(0, 0, [](auto, const Array& c) { return pl::sin(c); }, x));
  };
  EXPECT_EQ(Array(pl::jit(pl::grad(looped))(pl::ones({3}))).as<float>()[2], 1);
}

TEST(Fuse, LoopsThatAreNoScansStay) {
  const auto f = [](std::span<const Array> in) {
    const Array looped = pl::fori_loop(
        0, 5, [&](auto i, const Array& c) { return c + pl::dynamic_slice(in[0], {i * 2, 0}, {8, 128}); },
        pl::zeros({8, 128}));
    const Array until = pl::while_loop([](const Array& v) { return pl::sum(v) < 1000.0f; },
                                       [](const Array& v) { return v * 2.0f + 1.0f; }, pl::ones({8, 128}));
    return Arrays{looped, until};
  };
  EXPECT_EQ(count(fusedAndCompared(f, {some({32, 128}, 10)}).function.ops, "while"), 2U);
}

TEST(Fuse, FunctionsOfDevicesHaveKernelsToo) {
  const auto mapped = pl::shard_map([](const Array& v) { return pl::psum(pl::sin(v) * 2.0f, "x") + v; },
                                    pl::Mesh({{"x", 2}}), pl::P("x"), pl::P("x"));
  const auto f = [&](std::span<const Array> in) { return Arrays{mapped(in[0])}; };
  EXPECT_EQ(count(fusedAndCompared(f, {some({32, 128}, 11)}).function.ops, "kernel_call"), 2U);
}

TEST(Fuse, RowsThatAreTakenAreGathers) {
  const auto f = [](std::span<const Array> in) {
    return Arrays{pl::sum(pl::tanh(pl::take(in[0], in[1])), 1), pl::take(in[0], in[1], 1)};
  };
  std::vector<int32_t> indices;
  for (int i = 0; i < 40; ++i) indices.push_back(i * 7 % 30 - 15);  // from the end, where negative
  fusedAndCompared(f, {some({30, 64}, 12), pl::array(indices, {40})});
}

}  // namespace
