// A traced function runs again under any tracer: at once, in another trace, under a tracer of one's own.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "Helpers.h"
#include "RandomFunction.h"
#include "lang/call/TraceKernel.h"
#include "lang/call/TraceProgram.h"
#include "lang/print/Print.h"
#include "lang/trace/Replay.h"

namespace pl = smalti;
using pl::_, pl::Array;
using namespace smalti::lang;

namespace {

const pl::ArrayType kTile{pl::f32, {8, 128}};

Array ramp() {
  std::vector<float> x(8 * 128);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i)) * 3;
  return pl::array(x, {8, 128});
}

TEST(Replay, AtOnceGivesWhatTheFunctionGives) {
  const Array x = ramp();
  for (unsigned seed = 0; seed < 60; ++seed) {
    const pl::testing::RandomFunction f(seed, 12);
    const TracedFunction traced =
        traceFunction([&](std::span<const Array> a) { return std::vector{f(a[0])}; }, {&kTile, 1});
    SCOPED_TRACE(seed);
    pl::testing::expectEqual(replay(traced, {&x, 1})[0], f(x));
  }
}

TEST(Replay, InATraceGivesTheSameProgram) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const pl::testing::RandomFunction f(seed, 12);
    const TracedFunction traced =
        traceFunction([&](std::span<const Array> a) { return std::vector{f(a[0])}; }, {&kTile, 1});
    const TracedFunction again =
        traceFunction([&](std::span<const Array> a) { return replay(traced, a); }, {&kTile, 1});
    EXPECT_EQ(print(again), print(traced)) << seed;
  }
}

/// The body of the kernel, traced anew by a replay of its trace.
void expectSameAgain(const pl::Kernel& kernel, const pl::Call& call, const std::vector<pl::ArrayType>& operands) {
  const TracedKernel traced = traceKernel(kernel, call, pl::Location::current(), operands);
  Trace trace("again");
  std::vector<TracedArgument> refs;
  for (const pl::ValueId v : traced.body.function.arguments)
    refs.emplace_back(trace.addRefArgument(traced.body.function.values[v], *traced.body.refs[v]));
  EXPECT_TRUE(replay(traced.body, refs).empty());
  EXPECT_EQ(print(trace.finish()), print(traced.body));
}

TEST(Replay, InATraceGivesTheSameKernel) {
  const pl::Call call{.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .grid = {2}};
  for (unsigned seed = 0; seed < 60; ++seed) {
    const pl::testing::RandomFunction f(seed, 12);
    expectSameAgain([&](pl::Ref x, pl::Ref o) { o[_] = f(x[_]) + pl::astype(pl::program_id(0), pl::f32); }, call,
                    {kTile});
  }
}

TEST(Replay, TakesRefsScopesCopiesAndSemaphores) {
  expectSameAgain(
      [](pl::Ref x, pl::Ref o, pl::Ref scratch) {
        pl::run_scoped(
            [&](pl::Ref sem, pl::Ref buffer) {
              const auto copy = pl::make_async_copy(x.at({pl::ds(0, 8)}), buffer, sem);
              copy.start();
              pl::fori_loop(0, 3, [&](auto i) { scratch[_] += pl::astype(i, pl::f32); });
              copy.wait();
              pl::when(pl::sum(buffer[_]) > 0, [&] { o[pl::ds(0, 4)] = buffer[pl::ds(4, 4)]; });
              pl::debug_print("{}", pl::program_id(0));
            },
            pl::semaphore_type::dma(), pl::vmem({8, 128}, pl::f32));
        o[_] += scratch[_] + pl::empty_ref(pl::vmem({8, 128}, pl::f32))[_];
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32},
       .grid = {2},
       .in_specs = {pl::BlockSpec(pl::any_space)},
       .out_specs = {pl::BlockSpec{{8, 128}, [](auto) { return std::tuple{0, 0}; }}},
       .scratch_shapes = {pl::vmem({8, 128}, pl::f32)}},
      {{pl::f32, {16, 128}}});
}

TEST(Replay, OpsKeepTheirPlaces) {
  const TracedFunction traced =
      traceFunction([](std::span<const Array> a) { return std::vector{a[0] + 1}; }, {&kTile, 1});
  const int line = __LINE__ - 1;
  const TracedFunction again = traceFunction([&](std::span<const Array> a) { return replay(traced, a); }, {&kTile, 1});
  const auto added = std::ranges::find(again.function.ops, "add", &smalti::Op::name);
  ASSERT_NE(added, again.function.ops.end());
  EXPECT_EQ(added->place.line, line);
  EXPECT_TRUE(added->place.file.ends_with("ReplayTest.cpp"));
}

/// What a tracer that transforms looks like: values with their derivatives, of a few ops.
class Derivative : public Tracer {
 public:
  struct Dual : TracedValue {
    Array value, slope;
  };

  Array lift(Array value, Array slope) {
    const pl::ArrayType type = value.type();
    return Array::traced(type, std::make_shared<Dual>(Dual{{number_}, std::move(value), std::move(slope)}));
  }
  Dual dual(const Array& a) {
    if (a.is_traced() && static_cast<const TracedValue*>(a.tracer().get())->tracer == number_)
      return *static_cast<const Dual*>(a.tracer().get());
    return {{number_}, a, pl::zeros(a.shape(), a.dtype())};
  }

  std::vector<Array> bind(OpCall call) override {
    const TracerScope below(outer());
    std::vector<Array> values, slopes;
    for (const Array& a : call.operands) {
      const Dual d = dual(a);
      values.push_back(d.value);
      slopes.push_back(d.slope);
    }
    if (call.op.name == "for") return loop(call, std::move(values), slopes);
    const Array result = smalti::lang::bind(call.op, values, call.results, call.attributes)[0];
    if (call.op.name == "multiply") return {lift(result, slopes[0] * values[1] + values[0] * slopes[1])};
    if (call.op.name == "add") return {lift(result, slopes[0] + slopes[1])};
    if (call.op.name == "sine") return {lift(result, pl::cos(values[0]) * slopes[0])};
    return {lift(result, pl::zeros(result.shape(), result.dtype()))};  // conversions of numbers
  }

 private:
  /// The loop carries the slopes behind the values.
  std::vector<Array> loop(const OpCall& call, std::vector<Array> operands, const std::vector<Array>& slopes) {
    const size_t carried = operands.size() - 2;
    operands.insert(operands.end(), slopes.begin() + 2, slopes.end());
    std::vector<pl::ArrayType> types = *call.settled;
    types.insert(types.end(), call.settled->begin(), call.settled->end());
    Region region = call.regions[0];
    region.arguments.insert(region.arguments.end(), call.settled->begin(), call.settled->end());
    region.body = [&](std::span<const Array> inside) {
      std::vector<Array> duals{inside[0]};
      for (size_t i = 1; i <= carried; ++i) duals.push_back(lift(inside[i], inside[i + carried]));
      std::vector<Array> results;
      {
        const TracerScope here(*this);
        results = call.regions[0].body(duals);
      }
      std::vector<Array> flat;
      for (const Array& r : results) flat.push_back(dual(r).value);
      for (const Array& r : results) flat.push_back(dual(r).slope);
      return flat;
    };
    const std::vector<Array> results = bindRegions(call.op, operands, types, {&region, 1}, *call.at, call.attributes);
    std::vector<Array> lifted;
    for (size_t i = 0; i < carried; ++i) lifted.push_back(lift(results[i], results[i + carried]));
    return lifted;
  }

  uint64_t number_ = nextTracer();
};

/// x * sin(x)^3, with its sines in a loop.
Array wave(const Array& x) {
  return pl::fori_loop(0, 3, [&](auto, const Array& c) { return c * pl::sin(x); }, x);
}

Array slopeOfWave(const Array& x) {
  Derivative derivative;
  const Array lifted = derivative.lift(x, pl::ones(x.shape()));
  const TracerScope scope(derivative);
  return derivative.dual(wave(lifted)).slope;
}

TEST(Tracer, ACustomTracerWorksInsideAndOutsideOfTraces) {
  const Array x = ramp(), slope = slopeOfWave(x);
  const TracedFunction traced =
      traceFunction([](std::span<const Array> a) { return std::vector{slopeOfWave(a[0])}; }, {&kTile, 1});
  const Array again = replay(traced, {&x, 1})[0];
  for (int64_t i = 0; i < x.elements(); ++i) {
    const double v = x.as<float>()[i], s = std::sin(v), c = std::cos(v);
    EXPECT_NEAR(slope.as<float>()[i], s * s * s + 3 * v * s * s * c, 1e-5);
    EXPECT_EQ(slope.as<float>()[i], again.as<float>()[i]);
  }
  EXPECT_NE(print(traced).find("while"), std::string::npos);  // the loop is one still
}

}  // namespace
