// Plugins that are none, of another age, or do not start.
#include "pjrt/Plugin.h"

#include <gtest/gtest.h>

#include "Fake.h"
#include "base/io/File.h"
#include "pjrt/Client.h"

namespace smalti::pjrt {
namespace {

TEST(Plugin, IsLoaded) { EXPECT_EQ(CopiedPlugin().str(), "loaded 0.117"); }

TEST(Plugin, OnlyTheApisOwnCheckDetectsAnIncompatibleVersion) {
  EXPECT_TRUE(isIncompatibleVersion({3, "Unexpected PJRT_Client_Compile_Args size: expected 72, got 56."}));
  EXPECT_FALSE(isIncompatibleVersion({3, "INVALID: mismatched buffer size: expected 1024, got 512"}));
  EXPECT_FALSE(isIncompatibleVersion({13, "Unexpected PJRT_Client_Compile_Args size: expected 72, got 56."}));
}

TEST(Plugin, AFileThatIsNoneIsRefused) {
  EXPECT_EQ(Plugin::load("/nowhere/libtpu.so").error().str(),
            "error[SM6802]: '/nowhere/libtpu.so' is not a PJRT plugin that can be used\n"
            "  need: a shared library for this processor with the function GetPjrtApi\n"
            "  have: there is no such file\n");
  const std::string text = testing::TempDir() + "not_a_plugin.so";
  ASSERT_TRUE(writeFile(text, {"not a library"}));
  EXPECT_EQ(Plugin::load(text).error().have, "file too short");
  EXPECT_EQ(Plugin::load("/lib/x86_64-linux-gnu/libz.so.1").error().have, "a library without that function");
}

TEST(Plugin, AWrongTableIsRefused) {
  {
    const Fault fault("NO_TABLE", "1");
    EXPECT_EQ(CopiedPlugin().str(),
              "error[SM6802]: 'PLUGIN' is not a PJRT plugin that can be used\n"
              "  need: a shared library for this processor with the function GetPjrtApi\n"
              "  have: GetPjrtApi returned nothing\n"
              "  help: install another version of the plugin\n");
  }
  for (const std::string bytes : {"0", "40", "71", "99999999", "18446744073709551615"}) {
    const Fault fault("TABLE_BYTES", bytes);
    EXPECT_NE(CopiedPlugin().str().find("a table of " + bytes + " bytes"), std::string::npos) << bytes;
  }
  for (const std::string version : {"1.0", "0.12"}) {
    const Fault fault("VERSION", version);
    EXPECT_NE(CopiedPlugin().str().find("version " + version + " of the PJRT API"), std::string::npos) << version;
  }
}

TEST(Plugin, AnEntryBeyondTheTableIsMissing) {
  const Fault fault("TABLE_BYTES", "120");  // ends before kClientCreate
  const std::string path = testing::TempDir() + "small_table_" + std::to_string(::getpid());
  std::filesystem::copy_file(SMALTI_FAKE_PJRT, path, std::filesystem::copy_options::overwrite_existing);
  const auto small = Plugin::load(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(small);
  EXPECT_EQ(Client::create(*small).error().have, "UNIMPLEMENTED: the plugin has no entry 10");
}

TEST(Plugin, OneThatDoesNotStartIsNotCalledAgain) {
  const Fault fault("ERROR", "3:10:Internal error when accessing libtpu multi-process lockfile.");
  const CopiedPlugin copy;
  const std::string expected =
      "error[SM6803]: the plugin did not start\n"
      "   in plugin 'PLUGIN'\n"
      "  have: ABORTED: Internal error when accessing libtpu multi-process lockfile.\n"
      "  help: another process has the TPU: end it, or wait for it\n";
  EXPECT_EQ(copy.str(), expected);
  ::unsetenv("FAKE_PJRT_ERROR");
  EXPECT_EQ(copy.str(), expected);
}

}  // namespace
}  // namespace smalti::pjrt
