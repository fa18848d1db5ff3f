// Recorded modules: all are read, and what is written of them is read as the same Program.
#include <cstdlib>
#include <filesystem>

#include "../../LongTest.h"
#include "TestText.h"

namespace smalti::interop {
namespace {

using namespace testing;
namespace fs = std::filesystem;

/// module.stablehlo.mlir of every case below the recorded test data and, where it is there, the whole corpus.
std::vector<std::string> recordedModules() {
  std::vector<std::string> roots{std::string(SMALTI_SOURCE_DIR) + "/test/data/cases",
                                 std::string(SMALTI_SOURCE_DIR) + "/../shared/corpus"};
  if (const char* corpus = std::getenv("SMALTI_CORPUS")) roots.push_back(corpus);
  std::vector<std::string> paths;
  for (const std::string& root : roots) {
    if (!fs::is_directory(root)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root))
      if (entry.path().filename() == "module.stablehlo.mlir") paths.push_back(entry.path());
  }
  return paths;
}

TEST(Corpus, EveryRecordedModuleIsReadAndWrittenBack) {
  SMALTI_LONG_TEST();
  const auto paths = recordedModules();
  ASSERT_GE(paths.size(), 20u);
  for (const std::string& path : paths) {
    const auto program = importStableHlo(readFile(path), path);
    ASSERT_TRUE(program) << program.error().str();
    const auto text = exportStableHlo(*program);
    ASSERT_TRUE(text) << path << text.error().str();
    const auto again = importStableHlo(*text, path);
    ASSERT_TRUE(again) << again.error().str();
    EXPECT_TRUE(samePrograms(*program, *again)) << path;
  }
}

/// The text between the quotes of the first backend_config, unescaped.
std::string configOf(const std::string& module) {
  size_t i = module.find("backend_config = \"");
  std::string config;
  if (i == std::string::npos) return config;
  for (i += std::string("backend_config = \"").size(); module[i] != '"'; ++i) {
    if (module[i] != '\\') {
      config += module[i];
    } else if (module[i + 1] == '\\') {
      config += '\\';
      ++i;
    } else {
      config += static_cast<char>(std::stoi(module.substr(i + 1, 2), nullptr, 16));
      i += 2;
    }
  }
  return config;
}

TEST(Corpus, ConfigurationsAreWrittenByteForByteAsJaxDoes) {
  for (const std::string& path : recordedModules()) {
    const std::string config = configOf(readFile(path));
    const auto parsed = parseBackendConfig(config);
    ASSERT_TRUE(parsed) << path << parsed.error().str();
    EXPECT_EQ(printBackendConfig(parsed->config, parsed->body), config) << path;
  }
}

}  // namespace
}  // namespace smalti::interop
