#include "base/Options.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/Text.h"

namespace smalti {
namespace {

TEST(Options, EachHasItsOwnNameFieldAndVariable) {
  std::set<std::string> variables;
  for (const OptionRow& row : optionRows()) {
    EXPECT_TRUE(variables.insert(row.variable()).second) << row.name;
    EXPECT_FALSE(row.help.empty()) << row.name;
    OptionSet options;
    const std::string before = options.text(row);
    // Its built-in value is one that may be given.
    ASSERT_TRUE(options.set(row, before, Origin::commandLine, row.flag())) << row.name;
    EXPECT_EQ(options.text(row), before);
  }
}

TEST(Options, TheCommandLineWinsOverTheEnvironment) {
  const std::map<std::string, std::string> environment{{"SMALTI_SEED", "7"}, {"SMALTI_CHECK", "yes"}};
  OptionSet options;
  ASSERT_TRUE(options.readEnvironment([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  }));
  EXPECT_EQ(options.values.seed, 7);
  EXPECT_TRUE(options.values.check);
  EXPECT_EQ(options.origin(*findOption("seed")), Origin::environment);
  ASSERT_TRUE(options.set(*findOption("seed"), "8", Origin::commandLine, "--seed"));
  EXPECT_EQ(options.values.seed, 8);
  EXPECT_EQ(options.origin(*findOption("seed")), Origin::commandLine);
  EXPECT_EQ(options.origin(*findOption("cores")), Origin::builtIn);
}

TEST(Options, AWrongValueIsRefusedWithTheAllowedOnes) {
  OptionSet options;
  const Status status = options.set(*findOption("dma"), "lazy", Origin::environment, "SMALTI_DMA");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().str(),
            "error[SM1011]: SMALTI_DMA cannot be 'lazy'\n"
            "  need: auto|eager|on-wait|random\n"
            "  help: dma: when a copy's data moves between its start and its wait; auto: at random on the target "
            "interpret and in checks, at the start on other targets\n");
  for (const char* wrong : {"0", "65", "1.5", "", "1x", "99999999999999999999"})
    EXPECT_FALSE(options.set(*findOption("cores"), wrong, Origin::commandLine, "--cores")) << wrong;
  EXPECT_FALSE(options.set(*findOption("check"), "maybe", Origin::commandLine, "--check"));
}

TEST(Options, AMisspeltVariableIsFound) {
  const std::vector<std::string> names{"SMALTI_TARGT", "SMALTI_TARGET", "PATH", "SMALTI_SOMETHING_ELSE"};
  const auto found = misspeltVariables(names);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].first, "SMALTI_TARGT");
  EXPECT_EQ(found[0].second, "SMALTI_TARGET");
}

TEST(Text, NearestWords) {
  EXPECT_EQ(editDistance("kitten", "sitting"), 3);
  EXPECT_EQ(editDistance("", "abc"), 3);
  const std::vector<std::string> verbs{"run", "check", "conform", "show"};
  EXPECT_EQ(nearest("chekc", verbs, 1), std::vector<std::string>{"check"});
  EXPECT_TRUE(nearest("zzzzzzzz", verbs).empty());
}

}  // namespace
}  // namespace smalti
