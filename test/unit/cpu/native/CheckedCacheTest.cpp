// Entries of the compile cache that must not be taken for each other: plain code and code that checks itself, code for
// one core and for several.
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "Native.h"
#include "cpu/CheckedKernel.h"
#include "cpu/cache/CompileCache.h"
#include "cpu/runtime/Pool.h"

namespace smalti::cpu::testing {
namespace {

/// Adds to an output that nobody has set, or (with `init`) has.
TextKernel sums(bool init) {
  TextKernel k({4});
  const Val in = k.input({.array = {16, 8}, .block = {4, 8}, .map = "%i, %c0"});
  const Val out = k.output({.array = {4, 8}, .block = {4, 8}, .map = "%c0, %c0"});
  if (init) k.when(k.compare("eq", k.id(0), k.constant(0)), [&] { k.store(k.splat(k.f32(0), {4, 8}), out); });
  k.store(k.binary("arith.addf", k.load(out), k.load(in)), out);
  return k;
}

TEST(CheckedCache, CodeWithChecksIsNotTakenForCodeWithout) {
  std::string folder = std::filesystem::temp_directory_path() / "smalti_checked_XXXXXX";
  ASSERT_TRUE(::mkdtemp(folder.data()));
  const std::vector<Array> operands{counting({16, 8})};
  for (int round = 0; round < 2; ++round) {  // compiled, then from the cache
    CompileCache cache(folder, 1 << 26);
    for (const bool init : {true, false}) {
      const KernelPackage package = sums(init).package();
      const auto plain = compileNative(package, {.cache = &cache});
      const auto checks = compileChecked(package, {.cache = &cache});
      ASSERT_TRUE(plain && plain->kernel && checks && checks->kernel);
      bool fault = false;
      EXPECT_TRUE(plain->kernel->call(operands, 1, fault));
      EXPECT_FALSE(fault);
      const auto results = checks->kernel->call(operands, 1);
      ASSERT_TRUE(results);
      EXPECT_EQ(results->has_value(), init);
    }
  }
  std::filesystem::remove_all(folder);
}

#ifdef __linux__
TEST(CheckedCache, CodeForOneCoreIsNotTakenForCodeForSeveral) {
  if (availableCores() < 2) GTEST_SKIP() << "one core";
  std::string folder = std::filesystem::temp_directory_path() / "smalti_cores_XXXXXX";
  ASSERT_TRUE(::mkdtemp(folder.data()));
  CompileCache cache(folder, 1 << 26);
  const auto entries = [&] {
    EXPECT_TRUE(compileNative(sums(true).package(), {.cache = &cache}));
    const std::filesystem::directory_iterator files(folder);
    return std::count_if(begin(files), end(files), [](const auto& f) { return f.path().extension() == ".kernel"; });
  };
  std::thread([&] {
    cpu_set_t cores, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof cores, &cores), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i)
      if (CPU_ISSET(i, &cores)) CPU_SET(i, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(entries(), 1);
  }).join();
  EXPECT_EQ(entries(), 2);
  EXPECT_EQ(entries(), 2);
  std::filesystem::remove_all(folder);
}
#endif

}  // namespace
}  // namespace smalti::cpu::testing
