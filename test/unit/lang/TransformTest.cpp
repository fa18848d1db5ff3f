// Transformations of functions of arrays: what the comparison with JAX (test/ops) does not show.
#include <atomic>
#include <cmath>
#include <thread>

#include <gtest/gtest.h>

#include "Helpers.h"
#include "driver/program/RunProgram.h"
#include "interop/Interop.h"

namespace pl = smalti;
using pl::_, pl::Array;
using smalti::testing::codeOf, smalti::testing::expectEqual;

namespace {

Array numbers(pl::Shape shape, int seed = 0) { return pl::normal(pl::random_key(seed), std::move(shape)); }

pl::PallasCall scaledCall() {
  const pl::BlockSpec rows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
  return pl::pallas_call(
      [](pl::Ref x, pl::Ref o) { o[_] = x[_] * 2 + pl::astype(pl::program_id(0), pl::f32); },
      {.out_shape = pl::ShapeDtype{{16, 128}, pl::f32}, .grid = {2}, .in_specs = {rows}, .out_specs = {rows}});
}

struct Pair {
  Array w, b;
  template <class F>
  void visit(F&& f) {
    f(w, b);
  }
};

TEST(Jit, TracesOncePerSignature) {
  int traces = 0;
  const auto f = pl::jit([&](const Array& x, int n) {
    ++traces;
    return pl::integer_pow(x, n);
  });
  const Array x = numbers({4}), y = numbers({4}, 1);
  expectEqual(f(x, 2), x * x);
  expectEqual(f(y, 2), y * y);
  EXPECT_EQ(traces, 1);
  expectEqual(f(x, 3), x * (x * x));
  EXPECT_EQ(traces, 2);
  f(numbers({5}), 2);
  EXPECT_EQ(traces, 3);
  const auto copy = f;
  copy(x, 3);
  EXPECT_EQ(traces, 3);
}

TEST(Jit, NumbersStayWeak) {
  const auto f = pl::jit([](const Array& x, const Array& y) { return x * y; });
  EXPECT_EQ(f(pl::ones({4}, pl::bf16), 0.5).dtype(), pl::bf16);
  EXPECT_EQ(f(pl::ones({4}, pl::bf16), pl::ones({})).dtype(), pl::f32);
}

TEST(Jit, SizesOfVectorsArePartOfTheSignature) {
  const auto f = pl::jit([](const std::vector<Array>& added, const std::vector<Array>& taken) {
    Array sum = pl::zeros({4});
    for (const Array& a : added) sum = sum + a;
    for (const Array& t : taken) sum = sum - t;
    return sum;
  });
  const Array x = numbers({4}), y = numbers({4}, 1), z = numbers({4}, 2);
  const std::vector<Array> one{x}, two{x, y}, last{z}, rest{y, z};
  expectEqual(f(two, last), pl::zeros({4}) + x + y - z);
  expectEqual(f(one, rest), pl::zeros({4}) + x - y - z);
}

TEST(Jvp, StopGradientHoldsInKernels) {
  const auto kernel = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_] * pl::stop_gradient(x[_]); },
                                      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}});
  const Array x = numbers({8, 128}), t = numbers({8, 128}, 1);
  const auto [value, slope] = pl::jvp([&](const Array& v) -> Array { return kernel(v); }, std::tuple{x}, std::tuple{t});
  expectEqual(value, x * x);
  expectEqual(slope, x * t);
}

TEST(Grad, TakesHaveSecondDerivatives) {
  const Array indices = pl::array(std::vector<int32_t>{2, 0, 2}), x = numbers({4});
  const auto f = [&](const Array& v) { return pl::sum(pl::integer_pow(pl::take(v, indices, 0), 3)); };
  const auto twice = pl::grad([&](const Array& v) { return pl::sum(pl::grad(f)(v)); })(x);
  const float* v = x.as<float>();
  const std::vector<float> expected{6 * v[0], 0, 12 * v[2], 0};
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(twice.as<float>()[i], expected[static_cast<size_t>(i)], 1e-5f) << i;
}

TEST(Jit, StridedRollsKeepTheirStride) {
  const Array x = numbers({4, 8, 16});
  for (const int64_t stride : {0, 1, 3, 20}) {
    const auto f = [&](const Array& v, const Array& by) { return pl::roll(v, by, 2, stride, 1); };
    const Array by = pl::full({}, 5, pl::i32);
    expectEqual(pl::jit(f)(x, by), f(x, by));
  }
}

TEST(Jit, ThreadsShareTheCache) {
  std::atomic<int> wrong = 0;
  const auto f = pl::jit([](const Array& x) { return pl::sum(pl::sin(x)); });
  const Array x = numbers({64}), expected = pl::sum(pl::sin(x));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) wrong += *f(x).as<float>() != *expected.as<float>();
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Jit, ProgramsWithKernelsAndLoopsAreOneModule) {
  const auto kernel = scaledCall();
  const auto f = [&](const Array& x) {
    const Array y = pl::fori_loop(0, 3, [&](auto, const Array& c) -> Array { return Array(kernel(c)) - 1.0; }, x);
    return std::pair{pl::softmax(y), pl::cond(pl::sum(y) > 0, [&] { return y; }, [&]() -> Array { return kernel(y); })};
  };
  const Array x = numbers({16, 128});
  const auto now = f(x);
  const auto compiled = pl::jit(f)(x);
  expectEqual(compiled.first, now.first);
  expectEqual(compiled.second, now.second);
  const auto module = pl::jit(f).lower(x).stablehlo();
  ASSERT_TRUE(module) << module.error().str();
  const auto read = smalti::interop::importStableHlo(*module, "exported.mlir");
  ASSERT_TRUE(read) << read.error().str();
  const auto ran = smalti::driver::runProgram(*read, std::vector{x}, {});
  ASSERT_TRUE(ran) << ran.error().str();
  expectEqual(ran->results[0], now.first);
  expectEqual(ran->results[1], now.second);
}

TEST(Jit, ArgumentsThatAreMovedAreDonated) {
  const pl::BlockSpec rows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
  const auto inPlace =
      pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_] * 2; }, {.out_shape = pl::ShapeDtype{{16, 128}, pl::f32},
                                                                      .grid = {1},
                                                                      .in_specs = {rows},
                                                                      .out_specs = {rows},
                                                                      .input_output_aliases = {{0, 0}}});
  const auto f = pl::jit([&](const Pair& p) -> Array { return inPlace(Array(inPlace(p.w)) + 0 * p.b); });
  const auto alone = pl::jit([&](const Array& x) -> Array { return inPlace(x); });
  for (const char* target : {"interpret", "cpu"}) {
    pl::Settings settings;
    pl::unwrap(settings.set("target", target));
    pl::use_settings(settings);
    Array x = numbers({16, 128});
    const Array expected = alone(x);
    const std::byte* memory = x.data();
    EXPECT_NE(expected.data(), memory);  // a copy: the caller still holds the array
    Array other = x;
    EXPECT_NE(alone(std::move(other)).data(), memory);  // the same
    expectEqual(x, numbers({16, 128}));
    const Array y = alone(std::move(x));
    expectEqual(y, expected);
    EXPECT_EQ(y.data(), memory) << target;
    EXPECT_EQ(codeOf([&] { alone(x); }), "SM6118");  // NOLINT(bugprone-use-after-move): it has no value any more
    Pair p{numbers({16, 128}), pl::ones({16, 128})};
    const Array twice = f(p);
    expectEqual(f(std::move(p)), twice);
    // Memory of others is never written to.
    const Array owner = numbers({16, 128});
    Array view = Array::view(owner.type(), const_cast<std::byte*>(owner.data()));
    expectEqual(alone(std::move(view)), expected);
    expectEqual(owner, numbers({16, 128}));
  }
  pl::use_settings(pl::Settings());
}

TEST(Jit, ErrorsOfAFunctionLeaveNothingBehind) {
  bool fails = true;
  const auto f = pl::jit([&](const Array& x) { return fails ? pl::dot(x, pl::ones({7})) : pl::sum(x); });
  EXPECT_EQ(codeOf([&] { f(pl::ones({4})); }), "SM6304");
  fails = false;
  EXPECT_EQ(*f(pl::ones({4})).as<float>(), 4);
}

TEST(Transforms, StructsKeepTheirForm) {
  const auto loss = [](const Pair& p, const std::vector<std::pair<Array, Array>>& data) {
    Array total = pl::zeros({});
    for (const auto& [x, y] : data) total = total + pl::sum(pl::square(pl::dot(x, p.w) + p.b - y));
    return total;
  };
  const Pair p{numbers({3, 2}), numbers({2}, 1)};
  const std::vector<std::pair<Array, Array>> data{{numbers({5, 3}, 2), numbers({5, 2}, 3)},
                                                  {numbers({4, 3}, 4), numbers({4, 2}, 5)}};
  const Pair g = pl::grad(loss)(p, data);
  const auto [gp, gd] = pl::jit(pl::grad<0, 1>(loss))(p, data);
  expectEqual(g.w, gp.w);
  EXPECT_EQ(gd.size(), 2U);
  EXPECT_EQ(gd[1].first.shape(), (pl::Shape{4, 3}));
  // By hand: the gradient of b is twice the sum of what is left.
  Array left = pl::zeros({2});
  for (const auto& [x, y] : data) left = left + 2 * pl::sum(pl::dot(x, p.w) + p.b - y, 0);
  for (int i = 0; i < 2; ++i) EXPECT_NEAR(g.b.as<float>()[i], left.as<float>()[i], 1e-4);
}

TEST(Transforms, ShapesWithoutElements) {
  const auto f = [](const Array& x) { return pl::sum(pl::sin(x) * 2); };
  EXPECT_EQ(pl::grad(f)(pl::zeros({0, 3})).shape(), (pl::Shape{0, 3}));
  EXPECT_EQ(pl::jit(pl::vmap(pl::grad(f)))(pl::zeros({0, 3})).shape(), (pl::Shape{0, 3}));
  EXPECT_EQ(pl::vmap(pl::grad(f))(pl::zeros({3, 0})).shape(), (pl::Shape{3, 0}));
  const auto scanned = [](const Array& x) {
    return pl::scan([](const Array& c, const Array& x) { return std::pair{c * x, c}; }, pl::ones({}), x).first;
  };
  EXPECT_EQ(pl::grad(scanned)(pl::zeros({0})).shape(), (pl::Shape{0}));
}

TEST(Transforms, StopGradientStopsIt) {
  const auto f = [](const Array& x) { return pl::sum(x * pl::stop_gradient(x)); };
  const Array x = numbers({4});
  expectEqual(pl::grad(f)(x), x);
  expectEqual(pl::jit(pl::grad(f))(x), x);
  expectEqual(pl::vmap(pl::grad(f))(pl::reshape(x, {2, 2})), pl::reshape(x, {2, 2}));
}

TEST(Transforms, VmapOfKernelsAndItsComposition) {
  const auto kernel = scaledCall();
  const auto f = [&](const Array& x) -> Array { return kernel(x); };
  const Array x = numbers({3, 16, 128});
  const Array all = pl::vmap(f)(x), compiled = pl::jit(pl::vmap(f))(x);
  for (int64_t i = 0; i < 3; ++i) {
    const Array one = f(pl::reshape(pl::slice(x, {i, 0, 0}, {i + 1, 16, 128}), {16, 128}));
    expectEqual(pl::reshape(pl::slice(all, {i, 0, 0}, {i + 1, 16, 128}), {16, 128}), one);
  }
  expectEqual(compiled, all);
}

TEST(Transforms, CustomDerivativesSurviveJitVmapAndLoops) {
  const auto f =
      pl::custom_vjp([](const Array& x) { return x * x; }, [](const Array& x) { return std::pair{x * x, x}; },
                     [](const Array& x, const Array& ct) { return 3 * ct * x; });
  const auto total = [&](const Array& x) { return pl::sum(f(x)); };
  const Array x = numbers({4}), expected = 3 * x;
  expectEqual(pl::grad(total)(x), expected);
  expectEqual(pl::jit(pl::grad(total))(x), expected);
  expectEqual(pl::vmap(pl::grad(total))(pl::reshape(x, {2, 2})), pl::reshape(expected, {2, 2}));
  const auto looped = [&](const Array& x) {
    return pl::sum(pl::fori_loop(0, 1, [&](auto, const Array& c) { return f(c); }, x));
  };
  expectEqual(pl::grad(looped)(x), expected);
  // An argument that all examples share collects their cotangents.
  const auto g = pl::custom_vjp(
      [](const Array& x, const Array& y) { return x * y; },
      [](const Array& x, const Array& y) { return std::pair{x * y, std::pair{x, y}}; },
      [](const std::pair<Array, Array>& r, const Array& ct) { return std::pair{ct * r.second, 10 * ct * r.first}; });
  const auto shared = [&](const Array& y) { return pl::sum(pl::vmap(g, {.in_axes = {0, pl::none}})(x, y)); };
  EXPECT_NEAR(*pl::grad(shared)(pl::ones({})).as<float>(), 10 * *pl::sum(x).as<float>(), 1e-5);
}

/// One call over the whole array of a function of it.
template <class F>
auto kernelOf(const F& f) {
  const auto call =
      pl::pallas_call([f](pl::Ref x, pl::Ref o) { o[_] = f(x[_]); }, {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}});
  return [call](const Array& x) -> Array { return call(x); };
}

// Blocks of elements may reach beyond their array, as long as no element there matters.
TEST(Transforms, BlocksOfElementsBeyondTheEdgeHaveGradients) {
  const pl::ShapeDtype shape{{24, 128}, pl::f32};
  const pl::BlockSpec whole{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
  const pl::BlockSpec wide{{pl::Element{10}, pl::Element{128}}, [](auto i) { return std::tuple{i * 8, 0}; }};
  const auto reads = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[{pl::ds(0, 8)}] * x[{pl::ds(0, 8)}]; },
                                     {.out_shape = shape, .grid = {3}, .in_specs = {wide}, .out_specs = {whole}});
  const auto writes =
      pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = pl::concatenate({x[_] * x[_], x[{pl::ds(0, 2)}]}); },
                      {.out_shape = shape, .grid = {3}, .in_specs = {whole}, .out_specs = {wide}});
  const Array x = numbers({24, 128});
  for (const auto& call : {reads, writes}) {
    expectEqual(call(x), x * x);
    expectEqual(pl::grad([&](const Array& v) { return pl::sum(Array(call(v))); })(x), 2 * x);
  }
}

TEST(Transforms, CustomDerivativesHoldInKernels) {
  const auto tripled =
      pl::custom_vjp([](const Array& x) { return x * x; }, [](const Array& x) { return std::pair{x * x, x}; },
                     [](const Array& x, const Array& ct) { return 3 * ct * x; });
  const auto f = kernelOf(tripled);
  const Array x = numbers({8, 128});
  expectEqual(f(x), x * x);
  expectEqual(pl::grad([&](const Array& x) { return pl::sum(f(x)); })(x), 3 * x);
  const auto fivefold = pl::custom_jvp(
      [](const Array& x) { return x * x; },
      [](const auto& x, const auto& t) { return std::pair{std::get<0>(x) * std::get<0>(x), 5 * std::get<0>(t)}; });
  const auto g = kernelOf(fivefold);
  expectEqual(pl::jvp(g, std::tuple{x}, std::tuple{pl::ones({8, 128})}).second, pl::full({8, 128}, 5, pl::f32));
  expectEqual(pl::grad([&](const Array& x) { return pl::sum(g(x)); })(x), pl::full({8, 128}, 5, pl::f32));
  // relu is flat at 0.
  const auto r = kernelOf([](const Array& x) { return pl::relu(x); });
  expectEqual(pl::jvp(r, std::tuple{pl::zeros({8, 128})}, std::tuple{pl::ones({8, 128})}).second, pl::zeros({8, 128}));
}

TEST(Transforms, RoundingBeforeACustomVjpPassesNothing) {
  const auto f =
      pl::custom_vjp([](const Array& x) { return x * x; }, [](const Array& x) { return std::pair{x * x, x}; },
                     [](const Array& x, const Array& ct) { return 2 * ct * x; });
  const auto loss = [&](const Array& x) {
    const Array y = pl::cond(pl::sum(x) > 0, [&] { return f(pl::round(x)) + x; }, [&] { return x; });
    const auto body = [&](const Array& c, const Array& s) { return std::pair{c + f(pl::floor(s)) * s, c}; };
    return pl::scan(body, pl::zeros({}), y).first;
  };
  const Array x = pl::array(std::vector<float>{1.25f, 2.5f});
  const Array g = pl::grad(loss)(x);
  EXPECT_EQ(g.as<float>()[0], 4.0f);  // of floor(1 + 1.25)^2 * (1 + 1.25) along x
  EXPECT_EQ(g.as<float>()[1], 36.0f);
}

TEST(Transforms, ReverseModeGoesThroughKernelsAndComposes) {
  const auto f = kernelOf([](const Array& x) { return pl::sin(x) * x; });
  const auto plain = [](const Array& x) { return pl::sum(pl::sin(x) * x); };
  const auto loss = [&](const Array& x) { return pl::sum(f(x)); };
  const Array x = numbers({8, 128}), many = numbers({2, 8, 128}, 1);
  const auto near = [](const Array& a, const Array& b) {
    ASSERT_EQ(a.type(), b.type());
    for (int64_t i = 0; i < a.elements(); ++i) ASSERT_NEAR(a.as<float>()[i], b.as<float>()[i], 2e-6) << i;
  };
  near(pl::grad(loss)(x), pl::grad(plain)(x));
  near(pl::jit(pl::grad(loss))(x), pl::grad(plain)(x));
  near(pl::vmap(pl::grad(loss))(many), pl::vmap(pl::grad(plain))(many));
  near(pl::grad([&](const Array& x) { return pl::sum(pl::vmap(f)(x)); })(many), pl::vmap(pl::grad(plain))(many));
  const auto twice = [](const auto& g) {
    return pl::grad([g](const Array& x) { return pl::sum(pl::square(pl::grad(g)(x))); });
  };
  near(twice(loss)(x), twice(plain)(x));
  const auto along = [&](const auto& g) {
    return pl::jvp([g](const Array& x) { return pl::grad(g)(x); }, std::tuple{x}, std::tuple{numbers({8, 128}, 2)})
        .second;
  };
  near(along(loss), along(plain));
  const auto looped = [](const auto& g) {
    return pl::grad(
        [g](const Array& x) { return pl::sum(pl::fori_loop(0, 3, [g](auto, const Array& c) { return g(c); }, x)); });
  };
  near(looped(f)(x), looped([](const Array& x) { return pl::sin(x) * x; })(x));
}

TEST(Transforms, WhatCannotBeTransposedIsRefused) {
  const auto f =
      pl::custom_jvp([](const Array& x) { return x; },
                     [](const auto& x, const auto& t) { return std::pair{std::get<0>(x), pl::exp(std::get<0>(t))}; });
  const auto refused = smalti::attempt([&] { pl::grad([&](const Array& x) { return pl::sum(f(x)); })(pl::ones({4})); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "SM7102");
  EXPECT_EQ(refused.error().message, "'exp' cannot be transposed, which reverse mode needs");
}

TEST(Transforms, RulesThatAreNotLinearAreRefused) {
  using Rule = Array (*)(const Array&, const Array&);
  const auto refusal = [](Rule rule) {
    const auto f =
        pl::custom_jvp([](const Array& x) { return x * x; },
                       [rule](const auto& x, const auto& t) {
                         return std::pair{std::get<0>(x) * std::get<0>(x), rule(std::get<0>(x), std::get<0>(t))};
                       });
    const auto done = smalti::attempt([&] { pl::grad([&](const Array& x) { return pl::sum(f(x)); })(pl::ones({4})); });
    return done ? std::string() : done.error().code + ": " + done.error().message + ", " + done.error().have;
  };
  EXPECT_EQ(refusal([](const Array&, const Array& t) { return t * t; }),
            "SM7102: 'mul' is not linear in tangents, which reverse mode needs, mul with a tangent on both sides");
  EXPECT_EQ(refusal([](const Array& x, const Array& t) { return x / t; }),
            "SM7102: 'div' is not linear in tangents, which reverse mode needs, div with a tangent as divisor");
  EXPECT_EQ(refusal([](const Array& x, const Array& t) { return pl::dot(t, t) * x; }),
            "SM7102: 'dot_general' is not linear in tangents, which reverse mode needs, "
            "dot_general with a tangent on both sides");
  EXPECT_EQ(refusal([](const Array& x, const Array& t) { return x * t / 2 + t * x; }), "");
}

TEST(Transforms, RulesGiveTheResultsOfTheFunction) {
  const auto refusal = [](const auto& f) {
    const auto done = smalti::attempt([&] { pl::vjp(f, pl::ones({4})); });
    return done ? std::string() : done.error().message + ", " + done.error().need + ", " + done.error().have;
  };
  const auto forward = [&](const auto& f, const auto& forward) {
    return refusal(pl::custom_vjp(f, forward, [](const Array& x, const auto&) { return x; }));
  };
  const auto total = [](const Array& x) { return pl::sum(x); };
  EXPECT_EQ(forward(total, [](const Array& x) { return std::pair{pl::astype(pl::sum(x), pl::i32), x}; }),
            "the forward function of a custom_vjp gives another type than the function in result 0, f32[], i32[]");
  EXPECT_EQ(forward(total, [](const Array& x) { return std::pair{x, x}; }),
            "the forward function of a custom_vjp gives another type than the function in result 0, f32[], f32[4]");
  EXPECT_EQ(forward([](const Array& x) { return std::vector{x, x}; },
                    [](const Array& x) { return std::pair{std::vector{x}, x}; }),
            "the forward function of a custom_vjp gives another number of results than the function, 2 results, 1");
  EXPECT_EQ(refusal(pl::custom_jvp(
                total, [](const auto& x, const auto& t) { return std::pair{std::get<0>(x), std::get<0>(t)}; })),
            "the rule of a custom_jvp gives another type than the function in result 0, f32[], f32[4]");
}

TEST(Transforms, ErrorsOfBackwardFunctionsNameTheirLine) {
  const auto f = pl::custom_vjp([](const Array& x) { return x; }, [](const Array& x) { return std::pair{x, x}; },
                                [](const Array&, const Array& ct) { return pl::dot(ct, pl::ones({7})); });
  const int line = __LINE__ - 1;
  const auto done = smalti::attempt([&] { pl::grad([&](const Array& x) { return pl::sum(f(x)); })(pl::ones({4})); });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, "SM6304");
  EXPECT_EQ(done.error().place.line, line) << done.error().str();
}

TEST(Transforms, ErrorsInsideNameTheUsersLine) {
  const auto refused = smalti::attempt([&] {
    pl::jit(pl::grad([](const Array& x) {
      return pl::sum(pl::fori_loop(0, 2, [](auto, const Array& c) { return pl::dot(c, pl::ones({7})); }, x));
    }))(pl::ones({4}));
  });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "SM6304");
  EXPECT_NE(refused.error().place.file.find("TransformTest.cpp"), std::string::npos);
}

struct Scaled {
  int factor = 1;
  std::string name;
  Array w;
  template <class F>
  void visit(F&& f) {
    f(factor, name, w);
  }
};

TEST(Transforms, StaticMembersOfStructsArePartOfTheSignature) {
  int traces = 0;
  const auto f = pl::jit([&](const Scaled& s) {
    ++traces;
    return Scaled{s.factor + 1, s.name + "'", s.w * s.factor};
  });
  const Array x = pl::arange(4, pl::f32);
  for (const int factor : {2, 10, 2}) {
    const Scaled made = f(Scaled{factor, "a", x});
    EXPECT_EQ(made.factor, factor + 1);
    EXPECT_EQ(made.name, "a'");
    EXPECT_EQ(made.w.as<float>()[3], 3.0f * static_cast<float>(factor));
  }
  EXPECT_EQ(f(Scaled{2, "b", x}).name, "b'");
  EXPECT_EQ(traces, 3);
}

TEST(Transforms, SM6118_ResultsHaveValues) {
  const Array x = pl::ones({2});
  const auto nothing = [](const Array&) { return Array(); };
  EXPECT_EQ(codeOf([&] { return pl::grad(nothing)(x); }), "SM6118");
  EXPECT_EQ(codeOf([&] { return pl::vjp(nothing, x); }), "SM6118");
  EXPECT_EQ(codeOf([&] {
              return pl::value_and_grad([](const Array& x) { return std::pair{pl::sum(x), Array()}; }, pl::has_aux)(x);
            }),
            "SM6118");
}

}  // namespace
