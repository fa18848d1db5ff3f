#include "cpu/Processor.h"
#include "cpu/plan/product/TileLayout.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jit/JitModules.h"

namespace smalti::cpu {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string assemblyFor(const std::string& name) {
  auto processor = processorNamed(name);
  EXPECT_TRUE(processor) << processor.error().str();
  if (!processor) return "";
  auto object = generateObject(vectorModule(*processor, processor->lanes(4)), *processor);
  EXPECT_TRUE(object) << object.error().str();
  if (object) {
    EXPECT_TRUE(
        object->starts_with("\x7f"
                            "ELF"));
  }
  auto assembly = generateAssembly(vectorModule(*processor, processor->lanes(4)), *processor);
  EXPECT_TRUE(assembly) << assembly.error().str();
  return assembly ? *assembly : "";
}

TEST(Processor, TheHostIsKnown) {
  const Processor& host = hostProcessor();
  EXPECT_FALSE(host.name.empty());
  EXPECT_GE(host.vectorBytes, 16);
  EXPECT_GE(host.l2Bytes, host.l1Bytes);
  EXPECT_EQ(*processorNamed("host"), host);
}

TEST(Processor, TilesAreOnlyWhereTheSystemHasBeenAsked) {
  EXPECT_FALSE(hasTiles(*processorNamed("x86_64-linux-gnu/sapphirerapids")));
  const Processor& host = hostProcessor();
  if (!hasTiles(host)) GTEST_SKIP() << "this process has none";
  EXPECT_TRUE(host.avx512 && host.int8Dot);
  EXPECT_EQ(host.fmaPorts, 2) << "whatever model a virtual machine shows: " << host.name;
}

TEST(Processor, OneWithoutAvx512HasSixteenRegistersOf32Bytes) {
  auto p = processorNamed("x86_64-linux-gnu/haswell");
  ASSERT_TRUE(p);
  EXPECT_EQ(p->vectorBytes, 32);
  EXPECT_EQ(p->vectorRegisters, 16);
  EXPECT_FALSE(p->avx512 || p->bf16Dot || p->int8Dot);
}

TEST(Processor, OneWithAvx512HasThirtyTwoOf64) {
  auto p = processorNamed("x86_64-linux-gnu/sapphirerapids");
  ASSERT_TRUE(p);
  EXPECT_EQ(p->vectorBytes, 64);
  EXPECT_EQ(p->vectorRegisters, 32);
  EXPECT_TRUE(p->avx512 && p->bf16Dot && p->int8Dot);
  EXPECT_THAT(p->features, HasSubstr("+avx512f,")) << "functions with tables are chosen by it";
  EXPECT_FALSE(p->fastBf16Dot) << "without AMX its bf16 dot is slower than f32 fma";
}

TEST(Processor, UnknownNamesAreRefused) {
  auto p = processorNamed("x86_64-linux-gnu/pentium9");
  ASSERT_FALSE(p);
  EXPECT_EQ(p.error().str(),
            "error[SM7001]: there is no processor 'pentium9' for x86_64-unknown-linux-gnu\n"
            "  help: use a name that LLVM accepts, such as znver4, sapphirerapids or haswell, or "
            "aarch64-linux-gnu/neoverse-n1; `host` is this machine\n");
  EXPECT_FALSE(processorNamed("aarch64-linux-gnu/haswell"));
  EXPECT_FALSE(processorNamed("no-such-machine/haswell"));
  EXPECT_FALSE(processorNamed("aarch64-linux-gnu/"));
  EXPECT_FALSE(processorNamed(""));
}

TEST(Processor, CodeIsGeneratedForOthers) {
  EXPECT_THAT(assemblyFor("x86_64-linux-gnu/haswell"), HasSubstr("%ymm0"));
  EXPECT_THAT(assemblyFor("x86_64-linux-gnu/haswell"), Not(HasSubstr("%zmm")));
  EXPECT_THAT(assemblyFor("x86_64-linux-gnu/sapphirerapids"), HasSubstr("%zmm0"));
  EXPECT_THAT(assemblyFor("aarch64-linux-gnu/neoverse-n1"), HasSubstr(".4s"));
}

}  // namespace
}  // namespace smalti::cpu
