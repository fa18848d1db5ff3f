// The file of tuned candidates: what is written is read again, and what is wrong is refused with its line.
#include "driver/tune/TunedFile.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/io/File.h"

namespace smalti::driver {
namespace {

class TunedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("smalti_tuned_" + std::to_string(::getpid()) +
                                                  ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return (folder_ / "tuned.toml").string(); }
  /// What `readTuned` says of a file with this text, without the folder.
  std::string refusalOf(const std::string& text) const {
    std::ofstream(path()) << text;
    const auto read = readTuned(path());
    if (read) return "";
    std::string said = read.error().str();
    const size_t at = said.find(path());
    return at == std::string::npos ? said : said.replace(at, path().size(), "tuned.toml");
  }

  std::filesystem::path folder_;
};

TunedEntry entry(std::string kernel, std::string target, int64_t block) {
  return {std::move(kernel),
          std::move(target),
          {"bf16[512,512]", "i32[]"},
          Candidate{{"rows", block}, {"a", 8}},
          12.34,
          false,
          3};
}

constexpr const char* kGood =
    "[[tuned]]\nkernel = \"k\"\ntarget = \"v5e\"\noperands = [\"f32[8,128]\"]\ncandidate = { rows = 8 }\n"
    "us = 1.0\nby = \"model\"\ncandidates = 2\n";
constexpr const char* kHelp = "  help: delete the entry, or the file, to have it tuned again\n";

TEST_F(TunedFileTest, EntriesRoundTrip) {
  EXPECT_TRUE(readTuned(path())->empty());
  ASSERT_TRUE(addTuned(path(), {entry("z", "v5e", 512), entry("a \"b\"", "cpu/znver4", 8)}));
  auto read = readTuned(path());
  ASSERT_TRUE(read) << read.error().str();
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[0].kernel, "a \"b\"");
  EXPECT_EQ((*read)[1].candidate.str(), "rows = 512, a = 8");
  EXPECT_EQ((*read)[1].operands, (std::vector<std::string>{"bf16[512,512]", "i32[]"}));
  EXPECT_NEAR((*read)[1].us, 12.3, 0.01);
  // The same again changes no byte, another result of the same replaces it.
  const std::string before = *readFile(path());
  ASSERT_TRUE(addTuned(path(), {entry("z", "v5e", 512)}));
  EXPECT_EQ(*readFile(path()), before);
  ASSERT_TRUE(addTuned(path(), {entry("z", "v5e", 64)}));
  read = readTuned(path());
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[1].candidate.str(), "rows = 64, a = 8");
  // No temporary file is left.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(TunedFileTest, TheTextDoesNotDependOnTheOrder) {
  const std::vector<TunedEntry> some{entry("b", "v5e", 1), entry("a", "v6e", 2), entry("a", "v5e", 3)};
  EXPECT_EQ(tunedText(some), tunedText({some[2], some[0], some[1]}));
}

TEST_F(TunedFileTest, AFileThatIsNoToml) {
  const std::string said = refusalOf("[[tuned]]\nkernel = \n");
  EXPECT_TRUE(said.starts_with("error[SM6912]: the file of tuned candidates is not TOML\n  --> tuned.toml:2:")) << said;
}

TEST_F(TunedFileTest, ErrorsAreReportedWithTheirLine) {
  EXPECT_EQ(refusalOf(kGood), "");
  EXPECT_EQ(refusalOf("title = 1\n"),
            std::string("error[SM6912]: 'title' is not allowed in a file of tuned candidates\n  --> tuned.toml:1:1\n"
                        "  need: [[tuned]] tables\n") +
                kHelp);
  const auto with = [](std::string from, const std::string& to) {
    std::string text = kGood;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_EQ(
      refusalOf(with("us = 1.0", "us = -1.0")),
      std::string("error[SM6912]: 'us' cannot be this\n  --> tuned.toml:6:6\n  need: a time in µs, more than 0\n") +
          kHelp);
  EXPECT_EQ(refusalOf(with("rows = 8", "rows = \"8\"")),
            std::string("error[SM6912]: 'candidate' cannot be this\n  --> tuned.toml:5:13\n"
                        "  need: sizes by name: { block_m = 512 }\n") +
                kHelp);
  EXPECT_EQ(
      refusalOf(with("by = \"model\"", "by = \"luck\"")),
      std::string("error[SM6912]: 'by' cannot be this\n  --> tuned.toml:7:6\n  need: \"measured\" or \"model\"\n") +
          kHelp);
  EXPECT_EQ(refusalOf(with("target", "tarrget")),
            std::string("error[SM6912]: 'tarrget' is not a key of a tuned entry\n  --> tuned.toml:3:1\n"
                        "  need: kernel, target, operands, candidate, us, by, candidates\n") +
                kHelp);
  EXPECT_EQ(refusalOf(with("target = \"v5e\"\n", "")),
            std::string("error[SM6912]: the entry lacks 'target'\n  --> tuned.toml:1:1\n  need: a text\n") + kHelp);
  EXPECT_EQ(refusalOf(std::string(kGood) + kGood),
            std::string("error[SM6912]: there are two entries for kernel 'k' on v5e\n  --> tuned.toml:9:1\n"
                        "  need: one for each kernel, target and operands\n  have: f32[8,128]\n") +
                kHelp);
}

TEST_F(TunedFileTest, AWrongFileIsNotWrittenOver) {
  std::ofstream(path()) << "title = 1\n";
  EXPECT_FALSE(addTuned(path(), {entry("k", "v5e", 8)}));
  EXPECT_EQ(*readFile(path()), "title = 1\n");
}

}  // namespace
}  // namespace smalti::driver
