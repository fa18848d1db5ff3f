// Every recorded body: what is read, what is written again, and what the two have to do with each other.
#include <gtest/gtest.h>

#include "../LongTest.h"
#include "BytecodeSupport.h"

namespace smalti::interop::test {
namespace {

class BytecodeCorpus : public testing::Test {
 protected:
  void SetUp() override {
    corpus_ = corpusFolder();
    if (corpus_.empty()) GTEST_SKIP() << "no recorded corpus: set SMALTI_CORPUS";
  }
  fs::path corpus_;
};

int versionOf(mlir::ModuleOp module) {
  auto version = module->getAttrOfType<mlir::IntegerAttr>("stable_mosaic.version");
  return version ? static_cast<int>(version.getInt()) : 0;
}

void expectTextOfJaxlib(const fs::path& body, const fs::path& text) {
  auto context = makeContext();
  auto read = readBytecode(slurp(body), *context, body.string());
  ASSERT_TRUE(read) << read.error().str();
  const std::string expected = reprinted(text, *context);
  ASSERT_FALSE(expected.empty()) << text << " does not parse";
  EXPECT_EQ(genericText(**read), expected) << body;
}

fs::path textOf(fs::path body) { return body.replace_extension().string() + ".generic.mlir"; }

TEST(BytecodeSeed, ReadsAsJaxlibDeserialisesIt) {
  for (const auto& e : fs::directory_iterator(dataFolder() / "seed"))
    if (e.path().extension() == ".bc") expectTextOfJaxlib(e.path(), fs::path(e.path()).replace_extension(".mlir"));
}

TEST(BytecodeSeed, IsWrittenByteForByteAsItCame) {
  for (const auto& e : fs::directory_iterator(dataFolder() / "seed")) {
    if (e.path().extension() != ".bc") continue;
    auto context = makeContext();
    const std::string body = slurp(e.path());
    auto read = readBytecode(body, *context, e.path().string());
    ASSERT_TRUE(read) << read.error().str();
    auto written = writeBytecode(**read, versionOf(**read));
    ASSERT_TRUE(written) << written.error().str();
    EXPECT_EQ(afterProducer(*written), afterProducer(body)) << e.path();
  }
}

TEST_F(BytecodeCorpus, EveryBodyReadsAsJaxlibDeserialisesIt) {
  SMALTI_LONG_TEST();
  int compared = 0;
  for (const fs::path& body : bodiesBelow(corpus_)) {
    if (!fs::exists(textOf(body))) continue;
    expectTextOfJaxlib(body, textOf(body));
    ++compared;
  }
  EXPECT_GE(compared, 430);
}

TEST_F(BytecodeCorpus, EveryBodyIsWrittenByteForByteAsItCame) {
  int identical = 0;
  for (const fs::path& file : bodiesBelow(corpus_)) {
    const std::string body = slurp(file);
    auto context = makeContext();
    auto read = readBytecode(body, *context, file.string());
    ASSERT_TRUE(read) << read.error().str();
    const int version = versionOf(**read);
    if (version < 14) continue;  // below, layouts are written as text for readers of that time
    auto written = writeBytecode(**read, version);
    ASSERT_TRUE(written) << written.error().str();
    EXPECT_TRUE(afterProducer(*written) == afterProducer(body)) << file;
    ++identical;
  }
  EXPECT_GE(identical, 430);
}

TEST_F(BytecodeCorpus, EveryVersionIsReadAgainAsWhatWasWritten) {
  SMALTI_LONG_TEST();
  for (const fs::path& file : bodiesBelow(corpus_)) {
    auto context = makeContext();
    auto read = readBytecode(slurp(file), *context, file.string());
    ASSERT_TRUE(read) << read.error().str();
    for (int version : {8, 12, 13, 18}) {
      auto written = writeBytecode(**read, version);
      ASSERT_TRUE(written) << version << ": " << written.error().str();
      auto again = readBytecode(*written, *context, file.string());
      ASSERT_TRUE(again) << again.error().str();
      (**again)->setAttr("stable_mosaic.version", (**read)->getAttr("stable_mosaic.version"));
      EXPECT_EQ(genericText(**again, true), genericText(**read, true)) << file << " version " << version;
    }
  }
}

// The same kernel at every version from 1 to 18 is one kernel.
TEST_F(BytecodeCorpus, VersionsOfOneModuleGiveTheSameText) {
  for (const auto& kernel : fs::directory_iterator(corpus_ / "versions")) {
    if (!kernel.is_directory()) continue;
    std::string first;
    for (const fs::path& file : bodiesBelow(kernel.path())) {
      auto context = makeContext();
      auto read = readBytecode(slurp(file), *context, file.string());
      ASSERT_TRUE(read) << read.error().str();
      (**read)->removeAttr("stable_mosaic.version");
      const std::string text = genericText(**read);
      if (first.empty()) first = text;
      EXPECT_EQ(text, first) << file;
    }
  }
}

/// For test_bytecode_roundtrip.py: every body at several versions, where SMALTI_BYTECODE_OUT says.
TEST_F(BytecodeCorpus, WritesBodiesForJaxlibWhenAsked) {
  const char* out = std::getenv("SMALTI_BYTECODE_OUT");
  if (!out) GTEST_SKIP() << "SMALTI_BYTECODE_OUT is not set";
  for (const fs::path& file : bodiesBelow(corpus_)) {
    auto context = makeContext();
    auto read = readBytecode(slurp(file), *context, file.string());
    ASSERT_TRUE(read) << read.error().str();
    for (int version : {8, 13, 15, 18}) {
      auto written = writeBytecode(**read, version);
      ASSERT_TRUE(written) << written.error().str();
      fs::path to =
          fs::path(out) / fs::relative(file, corpus_).replace_extension(".v" + std::to_string(version) + ".bc");
      fs::create_directories(to.parent_path());
      std::ofstream(to, std::ios::binary) << *written;
    }
  }
}

}  // namespace
}  // namespace smalti::interop::test
