// Threads share the products and loop nests of steps that must run in order: the results are those of one thread, bit
// by bit, and those of the machine.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "../../LongTest.h"
#include "RowKernels.h"
#include "SmallProducts.h"
#include "cpu/Report.h"
#include "cpu/plan/KernelPlan.h"
#include "cpu/runtime/Pool.h"

namespace smalti::cpu::testing {
namespace {

constexpr int64_t kRows = 160, kColumns = 512, kDepth = 64, kSteps = 3;  // work enough for vectors of any length
const Shape kState{kRows, kColumns};

std::vector<Array> called(const NativeKernel& code, const std::vector<Array>& operands, int threads) {
  bool fault = false;
  auto results = code.call(operands, {}, {.threads = threads}, fault, nullptr);
  EXPECT_TRUE(results && !fault);
  return results ? *results : std::vector<Array>();
}

/// "" or how the results of several threads differ from those of one.
std::string differenceOfThreads(const NativeKernel& code, const std::vector<Array>& operands) {
  const std::vector<Array> one = called(code, operands, 1);
  for (const int threads : {2, 3, 7})
    for (int times = 0; times < 2; ++times) {
      const std::vector<Array> several = called(code, operands, threads);
      if (several.size() != one.size()) return "no results";
      for (size_t i = 0; i < one.size(); ++i)
        if (auto d = difference(several[i], one[i]); !d.empty()) return fmt::format("{} threads: {}", threads, d);
    }
  return "";
}

int64_t sharedNests(const NativeKernel& code) {
  return std::ranges::count_if(code.report().plan->nests, [](const NestSummary& n) { return n.sharedRows > 0; });
}
int64_t sharedProducts(const NativeKernel& code) {
  return std::ranges::count_if(code.report().plan->products,
                               [](const ProductPlan& p) { return !p.isSkinny() && p.packed().shared; });
}

/// A state in scratch, so that steps run in order: state = f(state, x, this step's weights); the result is the last
/// one.
TextKernel stateful(const std::function<Val(TextKernel&, const Val& state, const Val& x, const Val& weights)>& f) {
  TextKernel k({kSteps});
  const Val x = k.input({.array = {kRows, kDepth}, .block = {kRows, kDepth}, .map = "%c0, %c0"});
  const Val weights = k.input({.array = {kDepth, kSteps * kColumns}, .block = {kDepth, kColumns}, .map = "%c0, %i"});
  const Val out = k.output({.array = kState, .block = kState, .map = "%c0, %c0"});
  const Val state = k.scratch("f32", kState);
  k.when(k.compare("eq", k.id(0), k.constant(0)), [&] { k.store(k.splat(k.f32(1), kState), state); });
  k.store(f(k, k.load(state), k.load(x), k.load(weights)), state);
  k.store(k.load(state), out);
  return k;
}

std::vector<Array> operandsOf(const char* dtype = "f32") {
  return {smallNumbers(dtype, {kRows, kDepth}), smallNumbers(dtype, {kDepth, kSteps * kColumns}, 3)};
}

#define SMALTI_NEEDS_CORES() \
  if (availableCores() < 2) GTEST_SKIP() << "this process may run on one core only"

TEST(SharedWork, ProductsOfStepsInOrder) {
  SMALTI_NEEDS_CORES();
  const TextKernel k = stateful([](TextKernel& t, const Val& state, const Val& x, const Val& weights) {
    return multiplied(t, x, weights, false, state);
  });
  const auto code = native(k);
  ASSERT_TRUE(code);
  EXPECT_EQ(sharedProducts(*code), 1);
  EXPECT_EQ(differenceOfThreads(*code, operandsOf()), "");
  same(k, operandsOf());
}

TEST(SharedWork, SoftmaxOfProductsOfStepsInOrder) {
  SMALTI_NEEDS_CORES();
  const TextKernel k = stateful([](TextKernel& t, const Val& state, const Val& x, const Val& weights) {
    const Val scores = multiplied(t, x, weights, false, t.splat(t.f32(0), kState));
    const Val most = reducedRows(t, "maximumf", scores, kState, -1e30F);
    const Val e = t.fresh(scores.type);
    t.raw(fmt::format("{} = math.exp {} : {}", e.name, t.binary("arith.subf", scores, most).name, e.type));
    const Val sum = reducedRows(t, "add", e, kState, 0);
    return t.binary("arith.addf", t.binary("arith.mulf", state, t.splat(t.f32(.5), kState)),
                    t.binary("arith.divf", e, sum));
  });
  const auto code = native(k);
  ASSERT_TRUE(code);
  EXPECT_GE(sharedNests(*code), 1);
  EXPECT_EQ(differenceOfThreads(*code, operandsOf()), "");
}

TEST(SharedWork, NothingIsSharedIfThreadsShareTheGrid) {
  SMALTI_NEEDS_CORES();
  TextKernel k({kSteps}, "parallel");
  const Val x = k.input({.array = {kSteps * kRows, kDepth}, .block = {kRows, kDepth}, .map = "%i, %c0"});
  const Val w = k.input({.array = {kDepth, kColumns}, .block = {kDepth, kColumns}, .map = "%c0, %c0"});
  const Val out = k.output({.array = {kSteps * kRows, kColumns}, .block = kState, .map = "%i, %c0"});
  k.store(multiplied(k, k.load(x), k.load(w), false, k.splat(k.f32(0), kState)), out);
  const auto code = native(k);
  ASSERT_TRUE(code);
  EXPECT_EQ(sharedProducts(*code) + sharedNests(*code), 0);
}

/// One op of a random chain on the state. All numbers are small and whole: every order of additions gives the same.
Val step(TextKernel& k, int which, const Val& state, const Val& ref, int64_t amount) {
  const Val one = k.splat(k.f32(1), kState);
  switch (which) {
    case 0:
      return k.binary("arith.addf", state, one);
    case 1: {  // rows move: a row needs what another one holds
      const Val r = k.fresh(state.type);
      k.raw(fmt::format("{} = tpu.dynamic_rotate {} by {} dim 0 : {}, i32 -> {}", r.name, state.name,
                        k.constant(static_cast<int32_t>(amount)).name, r.type, r.type));
      return r;
    }
    case 2:
      return k.binary("arith.maximumf", state, reducedRows(k, "minimumf", state, kState, 100));
    case 3: {  // a sum over rows
      const Val start = k.splat(k.f32(0), {kColumns}), sum = k.fresh(start.type);
      k.raw(fmt::format("{} = vector.multi_reduction <maximumf>, {}, {} [0] : {} to {}", sum.name, state.name,
                        start.name, state.type, sum.type));
      const Val row = k.fresh(fmt::format("vector<1x{}xf32>", kColumns));
      k.raw(fmt::format("{} = vector.shape_cast {} : {} to {}", row.name, sum.name, sum.type, row.type));
      return k.binary("arith.minimumf", state, wide(k, row, kState));
    }
    case 4: {  // other rows of the same memory, before it is overwritten
      const Val part =
          k.load(ref, {kRows - amount, kColumns}, {k.constant(static_cast<int32_t>(amount)), k.constant(0)});
      k.store(part, ref, {k.constant(0), k.constant(0)});
      return k.binary("arith.addf", k.load(ref), one);
    }
    default:
      return k.binary("arith.subf", k.binary("arith.addf", state, state), state);
  }
}

TEST(SharedWork, RandomChainsOfOpsGiveWhatOneThreadGives) {
  SMALTI_NEEDS_CORES();
  SMALTI_LONG_TEST();
  EXPECT_TRUE(rc::check([] {
    const auto chain = *rc::gen::container<std::vector<std::pair<int, int64_t>>>(
        *rc::gen::inRange<size_t>(1, 6), rc::gen::pair(rc::gen::inRange(0, 6), rc::gen::inRange<int64_t>(1, 40)));
    TextKernel k({kSteps});
    const Val x = k.input({.array = kState, .block = kState, .map = "%c0, %c0"});
    const Val out = k.output({.array = kState, .block = kState, .map = "%c0, %c0"});
    const Val ref = k.scratch("f32", kState);
    k.when(k.compare("eq", k.id(0), k.constant(0)), [&] { k.store(k.load(x), ref); });
    for (const auto& [which, amount] : chain) k.store(step(k, which, k.load(ref), ref, amount), ref);
    k.store(k.load(ref), out);
    const auto code = native(k);
    RC_ASSERT(code != nullptr);
    const std::vector<Array> operands{smallNumbers("f32", kState)};
    RC_ASSERT(differenceOfThreads(*code, operands) == "");
    const auto expected = results(k, operands);
    RC_ASSERT(difference(called(*code, operands, 2)[0], expected[0]) == "");
  }));
}

}  // namespace
}  // namespace smalti::cpu::testing
