// The kernels that vmap and jvp make of a kernel.
#include <regex>

#include <gtest/gtest.h>

#include "Helpers.h"

namespace pl = smalti;
using pl::_, pl::Array;
using smalti::testing::expectEqual;

namespace {

Array numbers(pl::Shape shape, int seed = 0) { return pl::normal(pl::random_key(seed), std::move(shape)); }

/// What vmap gives for each example is what f gives for it, at once and compiled.
template <class F>
void expectEachExample(const F& f, const pl::VmapOptions& options, const std::vector<Array>& inputs) {
  const auto g = pl::vmap([&](const std::vector<Array>& x) -> Array { return f(x); }, options);
  const Array all = g(inputs);
  expectEqual(pl::jit(g)(inputs), all);
  const auto example = [](const Array& a, int64_t axis, int64_t i) {
    std::vector<int64_t> start(a.rank(), 0), end = a.shape();
    start[axis] = i;
    end[axis] = i + 1;
    return pl::squeeze(pl::slice(a, start, end), {axis});
  };
  for (int64_t i = 0; i < all.dim(0); ++i) {
    std::vector<Array> one;
    for (size_t k = 0; k < inputs.size(); ++k) {
      const auto axis = options.in_axes.empty() ? std::optional<int64_t>(0) : options.in_axes[k];
      one.push_back(axis ? example(inputs[k], *axis, i) : inputs[k]);
    }
    expectEqual(example(all, 0, i), f(one));
  }
}

pl::PallasCall matmulCall() {
  return pl::pallas_call(
      [](pl::Ref a, pl::Ref b, pl::Ref o, pl::Ref sum) {
        pl::when(pl::program_id(1) == 0, [&] { sum[_] = pl::zeros_like(sum); });
        sum[_] += pl::dot(a[_], b[_]);
        pl::when(pl::program_id(1) == pl::num_programs(1) - 1, [&] { o[_] = sum[_]; });
      },
      {.out_shape = pl::ShapeDtype{{16, 128}, pl::f32},
       .grid = {2, 2},
       .in_specs = {pl::BlockSpec{{8, 128}, [](auto i, auto k) { return std::tuple{i, k}; }},
                    pl::BlockSpec{{128, 128}, [](auto, auto k) { return std::tuple{k, 0}; }}},
       .out_specs = {pl::BlockSpec{{8, 128}, [](auto i, auto) { return std::tuple{i, 0}; }}},
       .scratch_shapes = {pl::vmem({8, 128}, pl::f32)},
       .compiler_params = {.dimension_semantics = {pl::parallel, pl::arbitrary}}});
}

TEST(DerivedKernels, SJ1_VmapOfAKernelIsOneMoreGridAxis) {
  const auto matmul = matmulCall();
  const auto f = [&](const std::vector<Array>& x) -> Array { return matmul(x[0], x[1]); };
  expectEachExample(f, {}, {numbers({3, 16, 256}), numbers({3, 256, 128}, 1)});
  expectEachExample(f, {.in_axes = {0, pl::none}}, {numbers({3, 16, 256}), numbers({256, 128}, 1)});
  expectEachExample(f, {.in_axes = {1, pl::none}}, {numbers({16, 3, 256}), numbers({256, 128}, 1)});
  expectEachExample(f, {.in_axes = {0, pl::none}}, {numbers({1, 16, 256}), numbers({256, 128}, 1)});
  const auto g = pl::jit(pl::vmap(pl::vmap(f)));
  const std::vector<Array> four{numbers({2, 2, 16, 256}), numbers({2, 2, 256, 128}, 1)};
  const std::string module = *g.lower(four).stablehlo();
  EXPECT_EQ(module.find("stablehlo.while"), std::string::npos);
  EXPECT_NE(module.find("tpu_custom_call"), std::string::npos);
  EXPECT_EQ(g(four).shape(), (pl::Shape{2, 2, 16, 128}));
}

TEST(DerivedKernels, SJ1_VmapOfAKernelWithoutAGrid) {
  const auto call =
      pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_] * 2; }, {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}});
  expectEachExample([&](const std::vector<Array>& x) -> Array { return call(x[0]); }, {}, {numbers({3, 8, 128})});
}

TEST(DerivedKernels, SJ1_VmapOfAKernelWithAliases) {
  const pl::BlockSpec rows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
  const auto call = pl::pallas_call([](pl::Ref x, pl::Ref, pl::Ref o) { o[_] = x[_] + 1; },
                                    {.out_shape = pl::ShapeDtype{{16, 128}, pl::f32},
                                     .grid = {2},
                                     .in_specs = {rows, rows},
                                     .out_specs = {rows},
                                     .input_output_aliases = {{1, 0}}});
  expectEachExample([&](const std::vector<Array>& x) -> Array { return call(x[0], x[1]); }, {.in_axes = {0, pl::none}},
                    {numbers({3, 16, 128}), numbers({16, 128}, 1)});
}

TEST(DerivedKernels, SJ2_VmapOfScalarPrefetchLoopsWhereExamplesDiffer) {
  const auto call =
      pl::pallas_call([](pl::Ref n, pl::Ref x, pl::Ref o) { o[_] = x[_] * pl::astype(n[0] + 1, pl::f32); },
                      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32},
                       .grid_spec = pl::GridSpec{
                           .num_scalar_prefetch = 1,
                           .grid = {1},
                           .in_specs = {pl::BlockSpec{{8, 128}, [](auto, auto n) { return std::tuple{n[0], 0}; }}},
                           .out_specs = {pl::BlockSpec{{8, 128}, [](auto, auto) { return std::tuple{0, 0}; }}}}});
  const auto f = [&](const std::vector<Array>& x) -> Array { return call(x[0], x[1]); };
  const Array ids = pl::reshape(pl::mod(pl::arange(3, pl::i32), 2), {3, 1});
  expectEachExample(f, {.in_axes = {pl::none, 0}}, {pl::ones({1}, pl::i32), numbers({3, 16, 128})});
  expectEachExample(f, {.in_axes = {0, pl::none}}, {ids, numbers({16, 128})});
}

TEST(DerivedKernels, SJ4_JvpOfAKernelIsTheKernelWithTangents) {
  const auto matmul = matmulCall();
  const auto f = [&](const Array& a, const Array& b) -> Array { return matmul(a, b); };
  const Array a = numbers({16, 256}), b = numbers({256, 128}, 1), da = numbers({16, 256}, 2),
              db = numbers({256, 128}, 3);
  const auto [y, dy] = pl::jvp(f, std::tuple{a, b}, std::tuple{da, db});
  expectEqual(y, f(a, b));
  const Array expected = pl::dot(da, b) + pl::dot(a, db);
  for (int64_t i = 0; i < dy.elements(); ++i) ASSERT_NEAR(dy.as<float>()[i], expected.as<float>()[i], 1e-3) << i;
  expectEqual(pl::jit([&](const Array& a, const Array& b) {
                return pl::jvp(f, std::tuple{a, b}, std::tuple{da, db}).second;
              })(a, b),
              dy);
  // Loops, branches and what is not a float.
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o, pl::Ref n) {
        const Array y = pl::fori_loop(0, 3, [](auto, const Array& c) { return pl::sin(c) * c; }, Array(x[_]));
        o[_] = pl::cond(pl::program_id(0) == 0, [&] { return y; }, [&] { return 2 * y; });
        n[_] = pl::astype(y > 0, pl::i32);
      },
      {.out_shape = {pl::ShapeDtype{{16, 128}, pl::f32}, pl::ShapeDtype{{16, 128}, pl::i32}},
       .grid = {2},
       .in_specs = {pl::BlockSpec{{8, 128}, [](auto i) { return std::tuple{i, 0}; }}},
       .out_specs = {pl::BlockSpec{{8, 128}, [](auto i) { return std::tuple{i, 0}; }},
                     pl::BlockSpec{{8, 128}, [](auto i) { return std::tuple{i, 0}; }}}});
  const auto g = [&](const Array& x) -> Array { return call(x)[0]; };
  const auto plain = [](const Array& x) {
    const Array y = pl::fori_loop(0, 3, [](auto, const Array& c) { return pl::sin(c) * c; }, x);
    return pl::concatenate({pl::slice(y, {0, 0}, {8, 128}), 2 * pl::slice(y, {8, 0}, {16, 128})});
  };
  const Array x = numbers({16, 128}), dx = numbers({16, 128}, 1);
  const auto ours = pl::jvp(g, std::tuple{x}, std::tuple{dx}), theirs = pl::jvp(plain, std::tuple{x}, std::tuple{dx});
  for (int64_t i = 0; i < x.elements(); ++i)
    ASSERT_NEAR(ours.second.as<float>()[i], theirs.second.as<float>()[i], 1e-4) << i;
  const Array many = numbers({2, 16, 128}, 4);
  const auto tangent = [&](const Array& x) { return pl::jvp(g, std::tuple{x}, std::tuple{dx}).second; };
  expectEqual(pl::reshape(pl::slice(pl::vmap(tangent)(many), {1, 0, 0}, {2, 16, 128}), {16, 128}),
              tangent(pl::reshape(pl::slice(many, {1, 0, 0}, {2, 16, 128}), {16, 128})));
}

/// What the only kernel of a module is said to cost.
std::vector<int64_t> costIn(const std::string& module) {
  std::vector<int64_t> all;
  for (const char* name : {"flops", "transcendentals", "bytes_accessed"}) {
    std::smatch found;
    const std::regex number(std::string(name) + R"(\\22: ?(\d+))");
    all.push_back(std::regex_search(module, found, number) ? std::stoll(found[1]) : -1);
  }
  return all;
}

TEST(DerivedKernels, SJ3_TheCostOfAKernelIsTimesTheExamples) {
  const auto withCost = [](std::optional<pl::CostEstimate> cost) {
    return pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = pl::exp(x[_]) * 2; },
                           {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .cost_estimate = cost});
  };
  for (const auto& cost : {std::optional(pl::CostEstimate{.flops = 7, .transcendentals = 11, .bytes_accessed = 13}),
                           std::optional<pl::CostEstimate>()}) {
    const auto call = withCost(cost);
    const auto f = [&](const Array& x) -> Array { return call(x); };
    const std::vector<int64_t> one = costIn(*pl::jit(f).lower(pl::ones({8, 128})).stablehlo());
    const std::vector<int64_t> five = costIn(*pl::jit(pl::vmap(f)).lower(pl::ones({5, 8, 128})).stablehlo());
    for (size_t i = 0; i < one.size(); ++i) EXPECT_EQ(five[i], 5 * one[i]) << i;
    EXPECT_GT(one[0], 0);
  }
}

TEST(DerivedKernels, SJ8_ACallWithSideEffectsStaysWhereNobodyUsesItsResults) {
  for (const bool has : {false, true}) {
    const auto call =
        pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_]; },
                        {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .compiler_params = {.has_side_effects = has}});
    const auto f = pl::jit([&](const Array& x) {
      (void)Array(call(x));
      return x + 1;
    });
    const std::string module = *f.lower(pl::ones({8, 128})).stablehlo();
    EXPECT_EQ(module.find("tpu_custom_call") != std::string::npos, has);
    EXPECT_EQ(module.find("has_side_effect = true") != std::string::npos, has);
    expectEqual(f(pl::ones({8, 128})), pl::full({8, 128}, 2, pl::f32));
  }
}

}  // namespace
