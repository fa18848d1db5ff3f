// Loops that need not end: which are counted, what it costs, and how calls end; blocks outside their arrays; memory.
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "Native.h"
#include "cpu/inspect/InnerLoop.h"
#include "cpu/inspect/Inspect.h"

namespace smalti::cpu::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Spec kWhole{.array = {64, 256}, .space = "vmem"};
const Spec kNumber{.dtype = "i32", .array = {1}, .space = "smem"};

/// out = the rounds of `loops`, a function that calls its argument once a round.
TextKernel counter(const std::function<void(TextKernel&, const Val& bound, const std::function<void()>&)>& loops) {
  TextKernel k;
  const Val bound = k.input(kNumber), out = k.output(kNumber);
  const Val zero = k.constant(0), one = k.constant(1);
  k.scalarStore(zero, out, {zero});
  loops(k, k.scalarLoad(bound, {zero}),
        [&] { k.scalarStore(k.binary("arith.addi", k.scalarLoad(out, {zero}), one), out, {zero}); });
  return k;
}

TextKernel dynamicLoop() {
  return counter(
      [](TextKernel& k, const Val& bound, auto round) { k.loop(k.constant(0), bound, [&](Val) { round(); }); });
}
TextKernel constantLoops(int32_t outer, int32_t inner) {
  return counter([=](TextKernel& k, const Val&, auto round) {
    k.loop(k.constant(0), k.constant(outer),
           [&](Val) { k.loop(k.constant(0), k.constant(inner), [&](Val) { round(); }); });
  });
}
TextKernel endless() {
  return counter([](TextKernel& k, const Val& bound, auto round) {
    k.whileLoop([&] { return k.compare("sgt", bound, k.constant(0)); }, round);
  });
}

struct Ended {
  bool fault = false;
  int32_t rounds = 0;
};
Ended call(const TextKernel& k, int32_t bound, CallOptions options) {
  const auto code = native(k);
  Ended ended;
  options.threads = 1;
  const auto results =
      code->call(std::vector{i32Array({1}, [=](int64_t) { return bound; })}, {}, options, ended.fault, nullptr);
  EXPECT_TRUE(results) << results.error().str();
  if (results) ended.rounds = *results->front().as<int32_t>();
  return ended;
}

TEST(NativeLimits, LoopsEndAtTheStepLimit) {
  constexpr int64_t kLimit = 100'000, kSlack = 2000;
  for (const TextKernel& k : {endless(), constantLoops(INT32_MAX, INT32_MAX), constantLoops(INT32_MAX, 3),
                              constantLoops(1, INT32_MAX), dynamicLoop()}) {
    const Ended ended = call(k, INT32_MAX, {.stepLimit = kLimit});
    EXPECT_TRUE(ended.fault);
    // Of a loop around one of 3 iterations, which count with its own, the 3 are seen.
    EXPECT_GE(ended.rounds, 3 * (kLimit - kSlack) / 4) << k.text();
    EXPECT_LE(ended.rounds, kLimit + kSlack) << k.text();
  }
}

TEST(NativeLimits, LoopsWithinTheLimitGoRoundAsOftenAsTheyShould) {
  for (const int32_t rounds : {0, 1, 1023, 1024, 1025, 99'000}) {
    const Ended ended = call(dynamicLoop(), rounds, {.stepLimit = 100'000});
    EXPECT_FALSE(ended.fault) << rounds;
    EXPECT_EQ(ended.rounds, rounds);
  }
  EXPECT_EQ(call(dynamicLoop(), 5'000'000, {}).rounds, 5'000'000) << "0 is no limit";
  EXPECT_EQ(call(constantLoops(30, 30), 0, {.stepLimit = 1}).rounds, 900) << "too few to be counted";
}

TEST(NativeLimits, EachCallHasTheWholeLimit) {
  const auto code = native(dynamicLoop());
  const std::vector operands{i32Array({1}, [](int64_t) { return 60'000; })};
  for (int i = 0; i < 4; ++i) {
    bool fault = false;
    ASSERT_TRUE(code->call(operands, {}, {.threads = 1, .stepLimit = 100'000}, fault, nullptr));
    EXPECT_FALSE(fault) << i;
  }
}

TEST(NativeLimits, ARaisedFlagEndsLoops) {
  for (const TextKernel& k : {endless(), constantLoops(INT32_MAX, INT32_MAX)}) {
    std::atomic<bool> stop{false};
    std::thread caller([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      stop = true;
    });
    EXPECT_TRUE(call(k, 1, {.stop = &stop}).fault);
    caller.join();
  }
}

TEST(NativeLimits, LongRoundsLookMoreOften) {
  TextKernel k;
  const Val out = k.output(kWhole), zero = k.constant(0);
  k.whileLoop([&] { return k.compare("eq", zero, zero); },
              [&] { k.store(k.binary("arith.addf", k.load(out), k.load(out)), out); });
  const auto code = native(k);
  bool fault = false;
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(code->call({}, {}, {.threads = 1, .stepLimit = 100}, fault, nullptr));
  EXPECT_TRUE(fault);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(NativeLimits, EveryThreadLooks) {
  TextKernel k({8}, "parallel");
  const Spec rows{.array = {8192, 128}, .block = {1024, 128}, .map = "%i, %c0"};
  const Val out = k.output(rows), zero = k.constant(0);
  k.store(k.splat(k.f32(1), {1024, 128}), out);
  k.whileLoop([&] { return k.compare("eq", zero, zero); }, [] {});
  const auto code = native(k);
  ASSERT_EQ(code->report().sharedAxes, 1);
  bool fault = false;
  const auto called = code->call({}, {}, {.threads = 2, .stepLimit = 100'000}, fault, nullptr);
  ASSERT_TRUE(called) << called.error().str();
  EXPECT_TRUE(fault);
}

std::string llvmOf(const TextKernel& k) {
  const auto made = inspectNative(k.package(), {});
  EXPECT_TRUE(made) << made.error().str();
  return made ? made->llvm : "";
}
size_t looks(const std::string& llvm) {
  size_t n = 0;
  for (size_t at = 0; (at = llvm.find("call preserve_allcc i32 @smalti.look", at)) != llvm.npos; ++at) ++n;
  return n;
}

TEST(NativeLimits, OnlyLoopsThatMayGoRoundOftenAreCounted) {
  EXPECT_EQ(looks(llvmOf(dynamicLoop())), 1u);
  EXPECT_EQ(looks(llvmOf(endless())), 1u);
  EXPECT_EQ(looks(llvmOf(constantLoops(1000, 1000))), 1u) << "the outer one";
  EXPECT_EQ(looks(llvmOf(constantLoops(1000, 100'000))), 1u) << "the inner one";
  EXPECT_EQ(looks(llvmOf(constantLoops(100'000, 100'000))), 2u);
  const std::string plain = llvmOf(constantLoops(30, 30));
  EXPECT_EQ(looks(plain), 0u);
  EXPECT_THAT(plain, Not(HasSubstr("smalti.look")));
  EXPECT_THAT(plain, Not(HasSubstr("noalias")));
}

TEST(NativeLimits, NestsAndProductsAreNotInterrupted) {
  TextKernel k;
  const Val bound = k.input(kNumber), in = k.input(kWhole), out = k.output(kWhole);
  k.loop(k.constant(0), k.scalarLoad(bound, {k.constant(0)}),
         [&](Val) { k.store(k.binary("arith.addf", k.load(out), k.load(in)), out); });
  const auto made = inspectNative(k.package(), {});
  ASSERT_TRUE(made) << made.error().str();
  EXPECT_EQ(looks(made->llvm), 1u);
  const auto inner = findInnerLoop(made->assembly);
  ASSERT_TRUE(inner);
  EXPECT_THAT(inner->text, Not(HasSubstr("call")));
  EXPECT_LT(inner->instructions, 40);
}

// ---- blocks outside their arrays

/// Three blocks of an array of two, by an affine index map, or where `from` says.
TextKernel lookAhead(bool byTable) {
  TextKernel k({3});
  Val table;
  if (byTable) table = k.prefetch("i32", {3});
  const Val in = k.input({.array = {16, 128},
                          .block = {8, 128},
                          .map = byTable ? "%at, %c0" : "%i, %c0",
                          .lines = byTable ? "%n = arith.index_cast %i : i32 to index\n"
                                             "%at = memref.load %p0[%n] : " +
                                                 table.type
                                           : ""});
  const Val out = k.output({.array = {24, 128}, .block = {8, 128}, .map = "%i, %c0"});
  k.store(k.load(in), out);
  return k;
}

bool leaves(const TextKernel& k, const std::vector<Array>& operands, bool checkBlocks = true) {
  const auto code = native(k, {.checkBlocks = checkBlocks});
  bool fault = false;
  EXPECT_TRUE(code->call(operands, 1, fault));
  return fault;
}

TEST(NativeLimits, AnEmptyAxisInsideHugeOnesHasNoSteps) {
  TextKernel k({INT32_MAX, INT32_MAX, 0});
  const Val out = k.output(kWhole);
  k.store(k.splat(k.f32(1), kWhole.array), out);
  bool fault = false;
  ASSERT_TRUE(native(k)->call({}, {}, {.threads = 1}, fault, nullptr));
  EXPECT_FALSE(fault);
}

TEST(NativeLimits, ABlockOutsideItsArrayIsAFault) {
  EXPECT_TRUE(leaves(lookAhead(false), {counting({16, 128})}));
  EXPECT_FALSE(leaves(lookAhead(false), {counting({16, 128})}, /*checkBlocks=*/false));
  const auto table = [](int32_t last) { return i32Array({3}, [=](int64_t i) { return i < 2 ? 1 : last; }); };
  for (const int32_t last : {0, 1}) EXPECT_FALSE(leaves(lookAhead(true), {table(last), counting({16, 128})})) << last;
  for (const int32_t last : {-1, 2, INT32_MIN, INT32_MAX})
    EXPECT_TRUE(leaves(lookAhead(true), {table(last), counting({16, 128})})) << last;
}

TEST(NativeLimits, OneElementInsideIsEnough) {
  TextKernel k({3});
  const Val in = k.input({.array = {17, 128}, .block = {8, 128}, .map = "%i, %c0"});
  const Val out = k.output({.array = {24, 128}, .block = {8, 128}, .map = "%i, %c0"});
  k.store(k.load(in), out);
  EXPECT_FALSE(leaves(k, {counting({17, 128})}));
}

// ---- memory

std::string refusal(const TextKernel& k, const std::vector<Array>& operands, int64_t bytes,
                    std::span<Array> into = {}) {
  const auto code = native(k);
  bool fault = false;
  const auto results = code->call(operands, into, {.threads = 1, .memoryLimitBytes = bytes}, fault, nullptr);
  return results ? "" : results.error().str();
}

TEST(NativeLimits, MemoryOfACallIsLimited) {
  TextKernel k;
  const Val in = k.input(kWhole), out = k.output(kWhole), scratch = k.scratch("f32", {64, 256});
  k.store(k.load(in), scratch);
  k.store(k.load(in), in);  // which needs a copy
  k.store(k.binary("arith.addf", k.load(scratch), k.load(in)), out);
  constexpr int64_t kBytes = 64 * 256 * 4;
  const std::vector operands{counting({64, 256})};
  const std::string have = "\n  help: use smaller blocks, scratch or arrays, or raise the memory limit\n";
  EXPECT_EQ(
      refusal(k, operands, kBytes - 1),
      "error[SM9002]: the memory limit is reached by a copy of operand 0\n  need: 65536 bytes on top of the 0 in use\n"
      "  have: a limit of 65535 bytes" +
          have);
  EXPECT_EQ(refusal(k, operands, 2 * kBytes - 1),
            "error[SM9002]: the memory limit is reached by output 0\n  need: 65536 bytes on top of the 65536 in use\n"
            "  have: a limit of 131071 bytes" +
                have);
  EXPECT_THAT(refusal(k, operands, 2 * kBytes), HasSubstr("is reached by the kernel's values\n"));
  EXPECT_EQ(refusal(k, operands, 4 * kBytes), "");
  EXPECT_EQ(refusal(k, operands, 0), "");
  std::vector<Array> given{counting({64, 256})};
  EXPECT_EQ(refusal(k, operands, 3 * kBytes, given), "") << "memory of the caller does not count";
}

}  // namespace
}  // namespace smalti::cpu::testing
