// A kernel's plain code and the code that checks itself are two entries of the compile cache.
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "Native.h"
#include "cpu/CheckedKernel.h"
#include "cpu/cache/CompileCache.h"

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

}  // namespace
}  // namespace smalti::cpu::testing
