// Functions of arrays that call kernels, as Programs: computed at once, by the Program runner, and read back from what
// is exported, they give the same.
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "Helpers.h"
#include "RandomFunction.h"
#include "driver/program/RunProgram.h"
#include "interop/Interop.h"
#include "lang/call/TraceProgram.h"
#include "lang/print/Print.h"
#include "lang/trace/Replay.h"

namespace pl = smalti;
using pl::_, pl::Array;
using namespace smalti::lang;

namespace {

using Arrays = std::vector<Array>;
using Inputs = std::span<const Array>;

Array numbers(pl::Shape shape, pl::DType dtype = pl::f32, int seed = 0) {
  const pl::Array x = pl::normal(pl::random_key(seed), std::move(shape));
  return dtype == pl::f32 ? x : pl::astype(pl::round(x * 5), dtype);
}

std::vector<pl::ArrayType> typesOf(const Arrays& arrays) {
  std::vector<pl::ArrayType> types;
  for (const Array& a : arrays) types.push_back(a.type());
  return types;
}

Arrays runProgram(const smalti::Program& program, const Arrays& inputs, std::string target = "interpret") {
  smalti::driver::RunSettings options;
  options.compile.target = std::move(target);
  auto outcome = smalti::driver::runProgram(program, inputs, options);
  if (!outcome) ADD_FAILURE() << outcome.error().str();
  return outcome ? std::move(outcome->results) : Arrays{};
}

void expectSameBits(const Arrays& a, const Arrays& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].type(), b[i].type());
    ASSERT_EQ(std::memcmp(a[i].data(), b[i].data(), static_cast<size_t>(a[i].bytes())), 0) << "result " << i;
  }
}

/// At once, by the Program runner on both targets, and after export and import; gives the module.
std::string expectSameEverywhere(const ArrayFunction& f, const Arrays& inputs) {
  const Arrays now = f(inputs);
  const TracedFunction traced = traceFunction(f, typesOf(inputs));
  expectSameBits(replay(traced, inputs), now);
  const smalti::Program program = programOf(traced);
  expectSameBits(runProgram(program, inputs), now);
  expectSameBits(runProgram(program, inputs, "cpu"), now);
  const auto text = smalti::interop::exportStableHlo(program);
  if (!text) {
    ADD_FAILURE() << text.error().str();
    return "";
  }
  const auto read = smalti::interop::importStableHlo(*text, "exported.mlir");
  if (!read) {
    ADD_FAILURE() << read.error().str() << *text;
    return "";
  }
  expectSameBits(runProgram(*read, inputs), now);
  return *text;
}

int count(const std::string& text, std::string_view word) {
  int n = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

/// One result.
std::function<Array(const Array&)> call(pl::PallasCall kernel) {
  return [kernel = std::move(kernel)](const Array& x) -> Array { return kernel(x); };
}

pl::PallasCall scaledCall(float by) {
  return pl::pallas_call([by](pl::Ref x, pl::Ref o) { o[_] = x[_] * by + pl::astype(pl::program_id(0), pl::f32); },
                         {.out_shape = pl::ShapeDtype{{16, 128}, pl::f32},
                          .grid = {2},
                          .in_specs = {pl::BlockSpec{{8, 128}, [](auto i) { return std::tuple{i, 0}; }}},
                          .out_specs = {pl::BlockSpec{{8, 128}, [](auto i) { return std::tuple{i, 0}; }}},
                          .name = "scaled"});
}

std::function<Array(const Array&)> scaled(float by) { return call(scaledCall(by)); }

TEST(TracedProgram, TwoKernelsWithPlainOpsBetween) {
  const auto twice = scaled(2), half = scaled(0.5f);
  const ArrayFunction f = [&](Inputs x) -> Arrays {
    const Array a = twice(x[0]);
    const Array b = half(pl::sin(a) + x[1]);
    return {pl::softmax(b), pl::sum(a, {.axes = {0}})};
  };
  const std::string module = expectSameEverywhere(f, {numbers({16, 128}), numbers({16, 128}, pl::f32, 1)});
  EXPECT_EQ(count(module, "tpu_custom_call"), 2);
  EXPECT_EQ(count(module, "stablehlo.sine"), 1);
}

TEST(TracedProgram, AKernelCalledTwiceIsThereOnce) {
  const auto twice = scaled(2);
  const ArrayFunction f = [&](Inputs x) -> Arrays { return {twice(twice(x[0]) + 1)}; };
  const Arrays inputs{numbers({16, 128})};
  expectSameEverywhere(f, inputs);
  EXPECT_EQ(traceProgram(f, typesOf(inputs)).kernels.size(), 2U);
}

TEST(TracedProgram, KernelsInLoopsAndBranches) {
  const auto half = scaled(0.5f);
  const ArrayFunction f = [&](Inputs x) -> Arrays {
    const Array looped =
        pl::fori_loop(0, x[1], [&](auto i, const Array& c) { return half(c) + pl::astype(i, pl::f32); }, x[0]);
    return {pl::cond(pl::sum(looped) > 0, [&] { return half(looped); }, [&] { return -looped; })};
  };
  const Arrays inputs{numbers({16, 128}), pl::full({}, 3, pl::i32)};
  const std::string module = expectSameEverywhere(f, inputs);
  EXPECT_EQ(count(module, "stablehlo.while"), 1);
  EXPECT_EQ(count(module, "stablehlo.if"), 1);
}

TEST(TracedProgram, UnusedOpsAreDropped) {
  const auto twice = scaled(2);
  const ArrayFunction f = [&](Inputs x) -> Arrays {
    twice(x[0]);
    return {x[0] + 1};
  };
  const pl::ArrayType type{pl::f32, {16, 128}};
  EXPECT_TRUE(traceProgram(f, {&type, 1}).kernels.empty());
}

TEST(TracedProgram, BoolsReachKernelsAsInMemory) {
  const auto flip = call(pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = pl::logical_not(x[_]); },
                                         {.out_shape = pl::ShapeDtype{{8, 128}, pl::pred}}));
  expectSameEverywhere([&](Inputs x) -> Arrays { return {flip(x[0] > 0)}; }, {numbers({8, 128})});
}

TEST(TracedProgram, ConstantsMayBeArrays) {
  const Array table = numbers({8, 128});
  expectSameEverywhere([&](Inputs x) -> Arrays { return {x[0] * table + pl::zeros({8, 128})}; },
                       {numbers({8, 128}, pl::f32, 2)});
}

TEST(TracedProgram, RandomFunctions) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    const pl::testing::RandomFunction f(seed, 10);
    expectSameEverywhere([&](Inputs x) -> Arrays { return {f(x[0])}; }, {numbers({8, 128})});
  }
}

/// Ops that StableHLO does not have.
TEST(TracedProgram, OpsMadeOfPlainOnesGiveTheSame) {
  const Array nan = pl::array(std::vector<float>{2, NAN, 7, 7, -1, 3, NAN, 7}, {2, 4});
  for (const pl::DType t : {pl::f32, pl::i32, pl::u32, pl::bf16}) {
    SCOPED_TRACE(pl::name(t));
    expectSameEverywhere(
        [](Inputs x) -> Arrays {
          return {pl::sum(x[0]),
                  pl::prod(x[0], {.axes = {0}}),
                  pl::max(x[0], {.axes = {0}}),
                  pl::min(x[0]),
                  pl::argmax(x[0], 1),
                  pl::argmin(x[0], 0),
                  pl::roll(x[0], 3, 1),
                  pl::roll(x[0], x[1], 0),
                  pl::any(x[0] > 2),
                  pl::all(x[0] > 2, {.axes = {1}})};
        },
        {numbers({4, 6}, t), pl::full({}, 9, pl::i32)});
  }
  expectSameEverywhere(
      [](Inputs x) -> Arrays { return {pl::argmax(x[0], 1), pl::argmin(x[0], 1), pl::argmin(x[0], 0)}; }, {nan});
  expectSameEverywhere(
      [](Inputs x) -> Arrays { return {pl::take_along_axis(x[0], x[1], 1), pl::take_along_axis(x[0], x[1], 0)}; },
      {numbers({3, 4}), pl::array(std::vector<int32_t>{2, 0, 1, 1, 0, 2, 2, 2, 1, 0, 0, 1}, {3, 4})});
  expectSameEverywhere([](Inputs x) -> Arrays { return {pl::reciprocal(x[0])}; }, {numbers({3, 4})});
}

TEST(TracedProgram, Exp2IsAPower) {
  const Array x = numbers({4, 128});
  const Array now = pl::exp2(x),
              run = runProgram(traceProgram([](Inputs x) -> Arrays { return {pl::exp2(x[0])}; }, typesOf({x})), {x})[0];
  for (int64_t i = 0; i < x.elements(); ++i)
    EXPECT_NEAR(run.as<float>()[i], now.as<float>()[i], 1e-5 * now.as<float>()[i]);
}

std::string textOf(const std::function<void()>& work) {
  const auto done = pl::attempt(work);
  return done ? "" : done.error().message;
}

TEST(TracedProgram, OpsOfKernelsAreRefused) {
  const pl::ArrayType type{pl::f32, {8, 128}};
  const auto trace = [&](const ArrayFunction& f) { return textOf([&] { traceProgram(f, {&type, 1}); }); };
  EXPECT_EQ(trace([](Inputs) -> Arrays { return {pl::program_id(0)}; }), "'program_id' exists inside kernels only");
  EXPECT_EQ(trace([](Inputs) -> Arrays {
              pl::debug_print("hello");
              return {};
            }),
            "'debug_print' exists inside kernels only");
}

TEST(TracedProgram, RegistersOfATpuAreRefused) {
  const pl::ArrayType type{pl::f32, {8, 128}};
  int line = 0;
  const auto done = pl::attempt([&] {
    line = __LINE__ + 1;
    traceProgram([](Inputs x) -> Arrays { return {pl::bitcast(x[0], pl::bf16)}; }, {&type, 1}, "model");
  });
  ASSERT_FALSE(done);
  const pl::Diagnostic& d = done.error();
  EXPECT_EQ(d.code, "SM6106");
  EXPECT_EQ(d.message, "'bitcast' cannot be in a program");
  EXPECT_EQ(d.place.line, line);
  EXPECT_EQ(d.where, std::vector<std::string>{"function 'model'"});
  EXPECT_EQ(d.need, "an op that StableHLO has, or that is made of such ops");
  EXPECT_EQ(d.have, "bitcast");
  EXPECT_EQ(d.help, "call it inside a kernel, or on arrays outside the function that is traced");
}

TEST(TracedProgram, AKernelCallsNoKernel) {
  const auto inner = scaled(2);
  const auto outer = call(pl::pallas_call([&](pl::Ref x, pl::Ref o) { o[_] = inner(x[_].value()); },
                                          {.out_shape = pl::ShapeDtype{{16, 128}, pl::f32}}));
  const pl::ArrayType type{pl::f32, {16, 128}};
  EXPECT_EQ(pl::testing::codeOf([&] { traceProgram([&](Inputs x) -> Arrays { return {outer(x[0])}; }, {&type, 1}); }),
            "SM6216");
}

TEST(TracedProgram, ATracedValueDoesNotLeave) {
  const pl::ArrayType type{pl::f32, {16, 128}};
  Array kept;
  traceProgram(
      [&](Inputs x) -> Arrays {
        kept = x[0] + 1;
        return {kept};
      },
      {&type, 1});
  EXPECT_EQ(pl::testing::codeOf([&] { scaled(2)(kept); }), "SM6105");
  EXPECT_EQ(pl::testing::codeOf([&] { scaledCall(2).check(kept); }), "SM6105");
  EXPECT_EQ(pl::testing::codeOf([&] { kept + 1; }), "SM6105");
}

}  // namespace
