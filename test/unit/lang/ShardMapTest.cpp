// shard_map against what test/python/test_devices.py compares with JAX: tracing, caching, kernels inside.
#include "smalti/shard_map.h"

#include <gtest/gtest.h>

#include "Helpers.h"
#include "driver/program/RunProgram.h"
#include "lang/call/TraceProgram.h"
#include "lang/trace/Replay.h"
#include "smalti/collectives.h"

namespace pl = smalti;
using pl::_, pl::Array;
using namespace smalti::lang;
using smalti::testing::expectEqual;

namespace {

const pl::Mesh kLine({{"x", 4}});

/// 0, 1, 2 …
Array counting(pl::Shape shape) {
  const int64_t n = pl::num_elements(shape);
  return pl::reshape(pl::arange(n, pl::f32), std::move(shape));
}

Array runProgram(const smalti::Program& program, const Array& x) {
  auto outcome = smalti::driver::runProgram(program, {&x, 1}, {});
  if (!outcome) ADD_FAILURE() << outcome.error().str();
  return outcome ? outcome->results[0] : Array();
}

TEST(ShardMap, IsTracedOncePerSignature) {
  int traces = 0;
  const auto f = pl::shard_map(
      [&](const Array& x) {
        ++traces;
        return x + 1;
      },
      kLine, pl::P("x"), pl::P("x"));
  const auto copy = f;
  f(pl::zeros({8, 128}));
  copy(pl::ones({8, 128}));
  EXPECT_EQ(traces, 1);
  f(pl::zeros({4, 128}));
  EXPECT_EQ(traces, 2);
}

TEST(ShardMap, IsAnOpOfAFunctionThatIsTraced) {
  const auto total = pl::shard_map([](const Array& x) { return pl::psum(x, "x"); }, kLine, pl::P("x"), pl::P());
  const Array x = counting({8, 128});
  const ArrayFunction f = [&](std::span<const Array> in) -> std::vector<Array> {
    const Array y = total(in[0] * 2);
    return {y + 1};
  };
  const Array now = f({&x, 1})[0];
  const pl::ArrayType type = x.type();
  const TracedFunction traced = traceFunction(f, {&type, 1});
  expectEqual(replay(traced, {&x, 1})[0], now);
  const smalti::Program program = programOf(traced);
  expectEqual(runProgram(program, x), now);
  ASSERT_EQ(program.meshes.size(), 1U);
  EXPECT_EQ(program.meshes[0].numDevices(), 4);
}

TEST(ShardMap, TakesTracedValuesFromOutside) {
  // A body of its own needs them as arguments: the op is isolated from above.
  const ArrayFunction f = [&](std::span<const Array> in) -> std::vector<Array> {
    const Array scale = pl::sum(in[0]);
    const auto scaled =
        pl::shard_map([&](const Array& x) { return x * scale + pl::axis_index("x"); }, kLine, pl::P("x"), pl::P("x"));
    return {scaled(in[0])};
  };
  const Array x = counting({8, 4});
  const pl::ArrayType type = x.type();
  const smalti::Program program = traceProgram(f, {&type, 1});
  const auto& ops = program.functions[0].ops;
  const auto manual = std::find_if(ops.begin(), ops.end(), [](auto& op) { return op.name == "manual_computation"; });
  ASSERT_NE(manual, ops.end());
  EXPECT_EQ(manual->operands.size(), 2U);
  const Array y = runProgram(program, x);
  const float sum = 31 * 32 / 2;
  for (int i = 0; i < 32; ++i) EXPECT_EQ(y.as<float>()[i], float(i) * sum + float(i / 8)) << i;
}

TEST(ShardMap, TwoMeshesStandInOneModule) {
  const pl::Mesh grid({{"x", 2}, {"y", 2}});
  const auto a = pl::shard_map([](const Array& x) { return pl::psum(x, "x"); }, kLine, pl::P("x"), pl::P());
  const auto b = pl::shard_map([](const Array& x) { return pl::psum(x, "y"); }, grid, pl::P("x", "y"), pl::P("x"));
  const ArrayFunction f = [&](std::span<const Array> in) -> std::vector<Array> {
    const Array sum = a(in[0]);
    return {b(sum)};
  };
  const pl::ArrayType type{pl::f32, {8, 4}};
  const smalti::Program program = traceProgram(f, {&type, 1});
  ASSERT_EQ(program.meshes.size(), 2U);
  const Array x = counting({8, 4});
  expectEqual(runProgram(program, x), f({&x, 1})[0]);
}

TEST(ShardMap, SJ5_AKernelSeesItsDevicesPartAndCoordinates) {
  const pl::Mesh grid({{"x", 2}, {"y", 2}});
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) {
        o[_] = x[_] * 100 + pl::astype(pl::axis_index("x") * 10 + pl::axis_index("y"), pl::f32);
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}});
  const auto f =
      pl::shard_map([=](const Array& x) -> Array { return call(x); }, grid, pl::P("x", "y"), pl::P("x", "y"));
  const Array y = f(pl::ones({16, 256}));
  for (int64_t i : {0, 7, 8, 15})
    for (int64_t j : {0, 127, 128, 255})
      EXPECT_EQ(y.as<float>()[i * 256 + j], 100.0f + 10.0f * float(i / 8) + float(j / 128));
  EXPECT_TRUE(f.check(pl::ones({16, 256})).findings.empty());
}

TEST(ShardMap, AKernelThatReadsItsIndexHasAGradient) {
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) {
        const Array scale = pl::astype(pl::axis_index("x") + 1, pl::f32);
        o[_] = pl::cond(pl::axis_index("x") > 1, [&] { return x[_] * scale; }, [&] { return x[_] * x[_]; });
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}});
  const auto f = pl::shard_map([=](const Array& x) -> Array { return call(x); }, kLine, pl::P("x"), pl::P("x"));
  const Array x = counting({32, 128});
  const Array ofSum = pl::grad([&](const Array& x) { return pl::sum(Array(f(x))); })(x);
  const auto derivative = pl::grad([=](const Array& x) { return pl::sum(Array(call(x))); });
  const auto ofEach =
      pl::shard_map([=](const Array& x) -> Array { return derivative(x); }, kLine, pl::P("x"), pl::P("x"));
  for (const Array& g : {ofSum, Array(ofEach(x)), pl::jit(ofEach)(x)[0]})
    for (int64_t i = 0; i < 32; ++i)
      EXPECT_EQ(g.as<float>()[i * 128], i < 16 ? 2.0f * float(i * 128) : float(i / 8 + 1)) << i;
}

/// One step of a loop over a function of several results, of which some depend on `c` alone.
template <class F>
Array lossOverLoops(const F& f, const Array& x, const Array& c) {
  const auto step = [&](const Array& carry) {
    const auto made = f(carry, c);
    return pl::tanh(made[0]) * made[2] + made[1];
  };
  const auto [last, squares] =
      pl::scan([&](const Array& carry, const Array& s) { return std::pair{step(carry) * s, carry * carry}; }, x,
               counting({3}) * 0.5f);
  const Array looped =
      pl::fori_loop(0, 2, [&](const Array&, const Array& carry) { return pl::sin(step(carry)); }, last);
  return pl::sum(looped) + pl::sum(squares);
}

TEST(ShardMap, LoopsOverAShardMapHaveGradients) {
  const auto body = [](const Array& x, const Array& c) -> std::vector<Array> {
    return {x * c + 1.0f, pl::sin(c) * x, c * c};
  };
  const auto mapped = pl::shard_map(body, kLine, {pl::P("x"), pl::P("x")}, pl::P("x"));
  const Array x = counting({8}) * 0.25f, c = 1.5f - counting({8}) * 0.125f;
  const auto gradients = [&](const auto& f) {
    const auto loss = [&](const Array& x, const Array& c) { return lossOverLoops(f, x, c); };
    return std::pair{pl::grad<0, 1>(loss)(x, c), pl::jit(pl::grad<0, 1>(loss))(x, c)};
  };
  const auto [wanted, wantedJitted] = gradients(body);
  const auto [got, gotJitted] = gradients(mapped);
  for (const auto& [dx, dc] : {got, gotJitted})
    for (int64_t i = 0; i < 8; ++i) {
      EXPECT_NEAR(dx.template as<float>()[i], std::get<0>(wanted).template as<float>()[i], 1e-4f) << i;
      EXPECT_NEAR(dc.template as<float>()[i], std::get<1>(wanted).template as<float>()[i], 1e-4f) << i;
    }
}

TEST(ShardMap, ResultsThatDependOnNoExampleAreNotBatched) {
  const auto mapped =
      pl::shard_map([](const Array& x, const Array& c) -> std::vector<Array> { return {x * c, c + 1.0f}; }, kLine,
                    {pl::P("x"), pl::P("x")}, pl::P("x"));
  const Array c = counting({8});
  const auto constant = pl::vmap(
      [&](const Array& x) -> Array {
        return pl::fori_loop(0, 3, [&](const Array&, const Array& carry) -> Array { return mapped(x, carry)[1]; }, c);
      },
      {.out_axes = {pl::none}});
  expectEqual(constant(counting({2, 8})), c + 3.0f);
}

TEST(ShardMap, MeansOverGroupsOfSeveralSizes) {
  // JAX divides by the size of the first group everywhere.
  const auto f = pl::shard_map([](const Array& x) { return pl::pmean(x, "x", {{{0, 1, 3}, {2}}}); }, kLine, pl::P("x"),
                               pl::P("x"));
  const Array means = f(counting({4}));
  const std::vector<float> got(means.as<float>(), means.as<float>() + 4);
  EXPECT_EQ(got, (std::vector<float>{4.0f / 3, 4.0f / 3, 2, 4.0f / 3}));
}

TEST(ShardMap, SG7_AKeyOfSeveralAxesIsOneIndexOverThem) {
  const pl::Mesh grid({{"x", 2}, {"y", 3}, {"z", 2}});
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o, pl::Ref send, pl::Ref receive) {
        const Array next = pl::rem(pl::axis_index({"x", "y"}) + 1, 6);  // along z everyone stays where it is
        pl::async_remote_copy(x, o, send, receive, {{{"x", "y"}, next}}).wait();
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32},
       .in_specs = {pl::BlockSpec(pl::any_space)},
       .out_specs = {pl::BlockSpec(pl::any_space)},
       .scratch_shapes = {pl::semaphore_type::dma(), pl::semaphore_type::dma()}});
  const pl::P over(std::tuple{"x", "y"}, "z");
  const auto f = pl::shard_map([=](const Array& x) -> Array { return call(x); }, grid, over, over);
  const auto wanted = pl::shard_map(
      [](const Array& x) { return pl::ppermute(x, {"x", "y"}, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 0}}); },
      grid, over, over);
  const Array x = counting({48, 256});
  expectEqual(f(x), wanted(x));
  EXPECT_TRUE(f.check(x).findings.empty());
}

TEST(ShardMap, AnExecutableWritesToTheCallersMemory) {
  const auto f = pl::shard_map([](const Array& x) { return pl::psum(x, "x"); }, kLine, pl::P("x"), pl::P());
  const pl::Executable ready = f.compile(pl::zeros({4, 8}));
  const std::vector<Array> inputs{pl::ones({4, 8})};
  std::vector<Array> outputs{pl::zeros({1, 8})};
  ASSERT_TRUE(ready.execute_into(inputs, outputs));
  EXPECT_EQ(outputs[0].as<float>()[7], 4.0f);
}

}  // namespace
