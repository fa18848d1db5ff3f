// Non-temporal stores of results: when, and that all of them are complete after the call.
#include <gtest/gtest.h>

#include "../RowKernels.h"
#include "cpu/inspect/Inspect.h"
#include "cpu/plan/KernelPlan.h"

namespace smalti::cpu::testing {
namespace {

/// o = x + x for blocks of 8 rows, perhaps read back.
TextKernel doubled(int64_t columns, bool readsBack = false, const std::string& map = "%i, %c0", int64_t rows = 32) {
  TextKernel k({rows / 8}, "parallel");
  const Val x = k.input({.array = {rows, columns}, .block = {8, columns}, .map = map});
  const Val o = k.output({.array = {rows, columns}, .block = {8, columns}, .map = map});
  const Val v = k.load(x);
  k.store(k.binary("arith.addf", v, v), o);
  if (readsBack) k.store(k.binary("arith.addf", k.load(o), v), o);
  return k;
}

/// Whether the plan has the output bypass the caches.
bool plansToStream(const TextKernel& kernel, const NativeOptions& options = tinyCache()) {
  auto made = inspectNative(kernel.package(), options);
  EXPECT_TRUE(made) << made.error().str();
  return made->report.plan->locality.back().isNonTemporal;
}

/// Whether the code does, which also needs whole lines.
bool streams(const TextKernel& kernel, const NativeOptions& options = tinyCache()) {
  if (!hostProcessor().triple.starts_with("x86_64")) return false;
  auto made = inspectNative(kernel.package(), options);
  EXPECT_TRUE(made) << made.error().str();
  const bool fenced = made->assembly.find("sfence") != std::string::npos;
  EXPECT_EQ(made->assembly.find("movnt") != std::string::npos, fenced);
  return fenced;
}

class Streaming : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!hostProcessor().triple.starts_with("x86_64")) GTEST_SKIP() << "only x86 has such stores";
  }
};

TEST_F(Streaming, ResultsLargerThanTheCache) {
  EXPECT_TRUE(plansToStream(doubled(128)) && streams(doubled(128)));
  EXPECT_FALSE(plansToStream(doubled(128), {}));
}

TEST_F(Streaming, OnlyWhatIsNotReadAgain) { EXPECT_FALSE(plansToStream(doubled(128, true))); }

TEST_F(Streaming, OnlyBlocksThatAreStoredOnce) { EXPECT_FALSE(plansToStream(doubled(128, false, "%c0, %c0"))); }

TEST_F(Streaming, OnlyWholeLines) {
  EXPECT_TRUE(streams(doubled(144)));
  // Blocks begin at multiples of 32 bytes: no whole line, but a whole vector where those are as short.
  EXPECT_EQ(streams(doubled(129)), hostProcessor().vectorBytes == 32);
}

TEST_F(Streaming, OnlyBlocksInsideTheArray) { EXPECT_FALSE(streams(doubled(128, false, "%i, %c0", 36))); }

TEST_F(Streaming, EveryElementIsThere) {
  for (const int64_t columns : {16, 128, 129, 144, 1000}) {
    const TextKernel k = doubled(columns);
    auto outcome = compileNative(k.package(), tinyCache());
    ASSERT_TRUE(outcome && outcome->kernel);
    const Array x = counting({32, columns});
    for (const int threads : {1, 2}) {
      bool fault = false;
      auto got = outcome->kernel->call(std::vector{x}, threads, fault);
      ASSERT_TRUE(got);
      EXPECT_EQ(difference((*got)[0], results(k, {x})[0]), "") << columns;
    }
  }
}

}  // namespace
}  // namespace smalti::cpu::testing
