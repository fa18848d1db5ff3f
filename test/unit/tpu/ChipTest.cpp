// Chips' files: what they say, and what is said of wrong ones.
#include "tpu/chip/Chip.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smalti::testing {
namespace {

std::string textOf(const std::string& name) {
  std::ifstream in(std::filesystem::path(SMALTI_SOURCE_DIR) / "chips" / (name + ".toml"));
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string edited(const std::string& from, const std::string& to) {
  std::string text = textOf("v5e");
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string messageOf(const std::string& from, const std::string& to) {
  const auto chip = tpu::parseChip(edited(from, to), "mine.toml");
  return chip ? "" : chip.error().str();
}

TEST(Chips, EveryNumberOfEveryChipHasASource) {
  for (std::string_view name : tpu::chipNames()) {
    const auto chip = tpu::findChip(name);
    ASSERT_TRUE(chip) << chip.error().str();
    EXPECT_EQ(chip->name, name);
    for (const tpu::ChipFact& fact : tpu::factsOf(*chip)) EXPECT_NE(fact.source, "") << name << " " << fact.path;
  }
}

TEST(Chips, MatchTheirFiles) {
  const auto v5e = tpu::findChip("v5e"), v4 = tpu::findChip("v4");
  ASSERT_TRUE(v5e && v4);
  EXPECT_EQ(v5e->memory.vmemBytes, 128 << 20);
  EXPECT_EQ(v5e->memory.vmemDefaultLimitBytes, 16 << 20);
  EXPECT_DOUBLE_EQ(v5e->device.clockGhz, 1.5);
  EXPECT_TRUE(v5e->takes.narrowMatmul);
  EXPECT_FALSE(v4->takes.narrowMatmul);
}

TEST(Chips, AllAndListsNameEachOnce) {
  const auto all = tpu::findChips("v5e,all");
  ASSERT_TRUE(all);
  std::vector<std::string> names;
  for (const tpu::Chip& c : *all) names.push_back(c.name);
  EXPECT_THAT(names, ::testing::ElementsAre("v5e", "v4", "v5p", "v6e", "v7x"));
}

TEST(Chips, AFileIsAChipToo) {
  const std::string path = (std::filesystem::temp_directory_path() / "smalti_chip_test.toml").string();
  std::ofstream(path) << edited("vmem_default_limit_bytes = { value = 16_777_216",
                                "vmem_default_limit_bytes = { value = 33_554_432");
  const auto chip = tpu::findChip(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(chip) << chip.error().str();
  EXPECT_EQ(chip->memory.vmemDefaultLimitBytes, 32 << 20);
}

TEST(Chips, SM1040_ThatIsNotToml) {
  const auto chip = tpu::parseChip("name = ", "mine.toml");
  ASSERT_FALSE(chip);
  EXPECT_EQ(chip.error().code, "SM1040");
  EXPECT_EQ(chip.error().place.line, 1);
}

TEST(Chips, SM1041_UnknownKeysAreRefusedWithTheirLine) {
  EXPECT_EQ(messageOf("cores_per_chip = 1", "cores_per_chop = 1"),
            R"(error[SM1041]: 'device.cores_per_chop' is not a key of a chip
  --> mine.toml:9:1
  need: generation, cores_per_chip, cores_per_device, clock_ghz
  help: did you mean 'cores_per_chip'?
error[SM1041]: the chip lacks 'device.cores_per_chip'
  --> mine.toml:1:1
  need: TensorCores of a chip
  help: [device] of a chip that Smalti comes with has it: smalti chips v5e --toml
)");
}

TEST(Chips, SM1041_ImpossibleValuesAreRefusedWithTheirLine) {
  EXPECT_EQ(messageOf("cores_per_chip = 1", "cores_per_chip = -3"),
            R"(error[SM1041]: 'device.cores_per_chip' cannot be -3
  --> mine.toml:9:18
  need: a whole number from 1 to 64: TensorCores of a chip
)");
  EXPECT_EQ(messageOf("cores_per_chip = 1", "cores_per_chip = 'one'"),
            R"(error[SM1041]: 'device.cores_per_chip' cannot be the text 'one'
  --> mine.toml:9:18
  need: a whole number from 1 to 64: TensorCores of a chip
)");
}

TEST(Chips, SM1041_NamesAreTexts) {
  EXPECT_EQ(messageOf("device_kind = \"TPU v5 lite\"", "device_kind = 5"),
            R"(error[SM1041]: 'names.device_kind' cannot be 5
  --> mine.toml:129:15
  need: a text: kind of JAX's devices
)");
}

TEST(Chips, SM1041_NumbersThatContradictEachOther) {
  EXPECT_EQ(messageOf("bf16_tflops_per_chip = 197", "bf16_tflops_per_chip = 1000"),
            R"(error[SM1041]: the peak is not what the matrix units and the clock give
  --> mine.toml:19:24
  need: about 197 (units × size² × 2 × rows a cycle × clock × cores)
  have: mxu.bf16_tflops_per_chip
)");
}

TEST(Chips, SM1041_ANumberWithoutASource) {
  const auto chip = tpu::parseChip(edited("[dma]\nsource = ", "[dma]\n# source = "), "mine.toml");
  ASSERT_FALSE(chip);
  EXPECT_EQ(chip.error().message, "'dma.granule_bytes' does not say where it is from");
}

TEST(Chips, SM6609_ThereIsNoSuchChip) {
  const auto chip = tpu::findChip("v5ee");
  ASSERT_FALSE(chip);
  EXPECT_EQ(chip.error().str(), R"(error[SM6609]: there is no chip 'v5ee'
  need: v4, v5e, v5p, v6e, v7x, or a chip's .toml file
  have: v5ee
  help: did you mean v5e?
)");
}

}  // namespace
}  // namespace smalti::testing
