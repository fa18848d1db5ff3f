// StableHLO's portable artifacts: what is in them, and damaged ones. JAX compares all ops: test_portable_artifacts.py.
#include <gtest/gtest.h>

#include <random>

#include "../LongTest.h"
#include "BytecodeSupport.h"
#include "ir/program/Program.h"

namespace smalti::interop::test {
namespace {

std::string recorded() { return slurp(fs::path(SMALTI_SOURCE_DIR) / "test/data/portable/add.bc"); }

TEST(PortableArtifact, HoldsTheProgram) {
  const std::string bytes = recorded();
  ASSERT_TRUE(isPortableArtifact(bytes));
  const auto program = importPortableArtifact(bytes, "add.bc");
  ASSERT_TRUE(program) << program.error().str();
  EXPECT_EQ(program->name, "jit_f");
  ASSERT_EQ(program->kernels.size(), 1u);
  EXPECT_EQ(program->kernels[0].name, "kernel");
  const Function& main = program->functions[static_cast<size_t>(program->main)];
  std::string types;
  for (const ArrayType& t : main.resultTypes) types += t.str() + " ";
  EXPECT_EQ(types, "f32[8,128] i32[3] bf16[3] f32[8,128] ");
  EXPECT_FALSE(main.isPrivate);
  EXPECT_TRUE(program->functions.back().isPrivate);
}

TEST(PortableArtifact, ElementsOfBoolAreUnpacked) {
  const auto program = importPortableArtifact(recorded(), "add.bc");
  ASSERT_TRUE(program);
  for (const Function& f : program->functions)
    for (const Op& op : f.ops) {
      const Attribute* value = op.name == "constant" ? op.find("value") : nullptr;
      if (!value || f.values[static_cast<size_t>(op.results[0])].dtype != DType::pred) continue;
      const Array& array = std::get<Array>(*value);
      ASSERT_EQ(array.elements(), 128);
      for (int64_t i = 0; i < 128; ++i) EXPECT_EQ(array.as<uint8_t>()[i], i % 2 == 0) << i;
      return;
    }
  FAIL() << "the recording has a constant of bool";
}

TEST(PortableArtifact, EveryTruncationIsRefused) {
  const std::string bytes = recorded();
  for (size_t n = 0; n < bytes.size(); ++n) {
    const auto program = importPortableArtifact(bytes.substr(0, n), "x.bc");
    ASSERT_FALSE(program) << n;
    EXPECT_EQ(program.error().code, "SM2101") << n;
  }
}

TEST(PortableArtifact, ANewerContainerIsRefused) {
  std::string bytes = recorded();
  bytes[4] = 0x0f;  // 7
  const auto program = importPortableArtifact(bytes, "x.bc");
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().str(),
            R"(error[SM2102]: the portable artifact's bytecode container is newer than what is known
  --> x.bc
   in byte 23 of a portable artifact written by StableHLO_v1.15.0
  need: container version 0 to 6
  have: container version 7
  help: give the text of the module: exported.mlir_module()
)");
}

TEST(PortableArtifact, DamagedArtifactsAreRefusedOrValid) {
  SMALTI_LONG_TEST();
  const std::string original = recorded();
  std::mt19937_64 random(7);
  int valid = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string bytes = original;
    for (uint64_t k = random() % 4 + 1; k-- > 0 && bytes.size() > 100;) {
      const size_t at = 30 + random() % (bytes.size() - 30);
      if (random() % 4 == 0)
        bytes.erase(at, random() % 3 + 1);
      else
        bytes[at] = static_cast<char>(random() % 2 ? random() : bytes[30 + random() % (bytes.size() - 30)]);
    }
    const auto program = importPortableArtifact(bytes, "x.bc");
    valid += program.has_value();
    if (program) {
      EXPECT_TRUE(verify(*program)) << i;
    } else {
      EXPECT_TRUE(program.error().code.starts_with("SM")) << i;
    }
  }
  EXPECT_GT(valid, 50);
  EXPECT_LT(valid, 3900);
}

}  // namespace
}  // namespace smalti::interop::test
