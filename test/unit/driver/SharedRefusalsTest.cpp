#include "driver/compile/SharedRefusals.h"

#include <gtest/gtest.h>

namespace smalti::driver {
namespace {

const std::vector<std::string> kChips{"v4", "v5e"};

std::vector<RequestedModule> asked(size_t number) {
  std::vector<RequestedModule> modules;
  for (size_t i = 0; i < number; ++i) modules.push_back({"m" + std::to_string(i), {}, i});
  return modules;
}

CompilerVerdict refused(const std::string& chip, const std::string& why, const std::string& have,
                        const SourcePlace& place = {}) {
  CompilerVerdict v;
  v.reason = "element-type";
  v.diagnostic = {
      .code = "SM6806", .message = "the compiler for " + chip + " refuses this: " + why, .place = place, .have = have};
  return v;
}

/// A row of verdicts at the line that all modules share.
std::vector<CompilerVerdict> row(const std::string& have) {
  const SourcePlace place{.file = "kernel.py", .line = 6, .column = 3};
  return {refused("v4", "no i8", have, place), refused("v5e", "no i8", have, place)};
}

std::vector<std::string> whos(const Verdicts& verdicts) {
  std::vector<std::string> said;
  for (const SharedRefusal& r : sharedRefusals(asked(verdicts.size()), kChips, verdicts)) said.push_back(r.who());
  return said;
}

TEST(SharedRefusals, TheSameOfSeveralModulesIsOne) {
  EXPECT_EQ(whos({row("i8"), row("i8"), row("i8")}), (std::vector<std::string>{"m0, for v4, v5e; the same of m1, m2"}));
}

TEST(SharedRefusals, OtherWordsAreAnother) {
  EXPECT_EQ(whos({row("i8"), row("i4")}), (std::vector<std::string>{"m0, for v4, v5e", "m1, for v4, v5e"}));
  Verdicts sentences{row("i8"), row("i8")};
  for (CompilerVerdict& v : sentences[1]) v.diagnostic->message += " at all";
  EXPECT_EQ(whos(sentences), (std::vector<std::string>{"m0, for v4, v5e", "m1, for v4, v5e"}));
}

TEST(SharedRefusals, AModuleWithoutALineHasItsOwn) {
  const std::vector<CompilerVerdict> without{refused("v4", "no i8", "i8"), refused("v5e", "no i8", "i8")};
  EXPECT_EQ(whos({without, without}), (std::vector<std::string>{"m0, for v4, v5e", "m1, for v4, v5e"}));
}

TEST(SharedRefusals, EachModuleHasItsOwnChips) {
  Verdicts verdicts{row("i8"), row("i8"), row("i8"), row("i8")};
  verdicts[1][0] = {};
  verdicts[1][0].accepted = true;
  verdicts[3][0] = verdicts[1][0];
  EXPECT_EQ(whos(verdicts), (std::vector<std::string>{"m0, for v4, v5e; the same of m2; the same of m1, m3, for v5e"}));
}

}  // namespace
}  // namespace smalti::driver
