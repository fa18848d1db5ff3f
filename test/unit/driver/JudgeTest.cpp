// Many modules before a compiler that may crash and hang: that of test/pjrt, with faults.
#include "driver/compile/Judge.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace smalti::driver {
namespace {

constexpr std::string_view kGood =
    "func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> { %0 = stablehlo.add %arg0, %arg0 : tensor<8xf32> "
    "return %0 : tensor<8xf32> }";

class CompilerFault {
 public:
  CompilerFault(std::string name, const char* value) : name_("FAKE_PJRT_" + std::move(name)) {
    ::setenv(name_.c_str(), value, 1);
  }
  ~CompilerFault() { ::unsetenv(name_.c_str()); }
  CompilerFault(const CompilerFault&) = delete;
  CompilerFault& operator=(const CompilerFault&) = delete;

 private:
  std::string name_;
};

std::vector<std::vector<CompilerVerdict>> judged(size_t numModules, std::vector<std::string> chips,
                                                 Options options = {}) {
  JudgeRequest request{.plugin = SMALTI_FAKE_PJRT, .modules = {}, .chips = std::move(chips), .executableFile = {}};
  for (size_t i = 0; i < numModules; ++i) request.modules.push_back({"m", std::string(kGood)});
  options.jobs = 2;
  return judge(request, options, [](size_t) {});
}

TEST(Judge, EveryModuleAndChipHasItsVerdict) {
  const auto verdicts = judged(3, {"v4", "v5e"});
  ASSERT_EQ(verdicts.size(), 3u);
  for (const auto& row : verdicts)
    for (const CompilerVerdict& v : row) {
      EXPECT_TRUE(v.accepted) << (v.error ? v.error->str() : v.diagnostic ? v.diagnostic->str() : "");
      EXPECT_EQ(v.fits, "yes");
    }
}

TEST(Judge, ARefusalIsClassified) {
  const CompilerFault fault("ERROR", "89:8:E1001: Ran out of memory in memory space vmem.");
  const CompilerVerdict v = judged(1, {"v5e"})[0][0];
  EXPECT_FALSE(v.accepted);
  EXPECT_EQ(v.reason, "vmem");
  EXPECT_EQ(v.fits, "no");
  EXPECT_EQ(v.diagnostic->str(),
            "error[SM6806]: the compiler for v5e refuses this: the kernel needs more VMEM than it may use\n"
            "  have: RESOURCE_EXHAUSTED: E1001: Ran out of memory in memory space vmem.\n"
            "  help: use smaller blocks or scratch, or raise vmem_limit_bytes where the chip has more\n");
}

TEST(Judge, AProgramsSizesAreNotThePlugins) {
  const CompilerFault fault("ERROR", "89:3:INVALID: mismatched buffer size: expected 1024, got 512");
  const CompilerVerdict v = judged(1, {"v5e"})[0][0];
  EXPECT_FALSE(v.error) << v.error->str();
  EXPECT_FALSE(v.accepted);
  ASSERT_TRUE(v.diagnostic);
  EXPECT_EQ(v.diagnostic->code, "SM6806");
}

TEST(Judge, ACrashIsADiagnostic) {
  const CompilerFault fault("CRASH", "89");
  for (const auto& row : judged(2, {"v5e"})) {
    EXPECT_EQ(row[0].reason, "crash");
    EXPECT_EQ(row[0].diagnostic->str(),
              "error[SM6805]: the compiler for v5e crashed on this module\n"
              "  have: signal 6 (Aborted): latency_table_vf.cc:719] Operation not supported: kFake\n"
              "  help: the plugin crashed: reduce the kernel to find the op\n");
  }
}

TEST(Judge, AHangIsADiagnostic) {
  const CompilerFault fault("HANG", "89");
  Options options;
  options.timeoutSeconds = 1;
  const CompilerVerdict v = judged(1, {"v5e"}, options)[0][0];
  EXPECT_EQ(v.reason, "timeout");
  EXPECT_EQ(v.diagnostic->str(),
            "error[SM6807]: the compiler for v5e did not finish in time\n"
            "  need: at most 1 s\n"
            "  help: raise --timeout-seconds, or use a smaller module\n");
}

TEST(Judge, APluginThatCannotBeUsedEndsIt) {
  const CompilerFault fault("ERROR", "82:3:Unexpected PJRT_TopologyDescription_Create_Args size: expected 72, got 56.");
  for (const auto& row : judged(20, {"v5e"})) {
    ASSERT_TRUE(row[0].error);
    EXPECT_EQ(row[0].error->str(),
              "error[SM6803]: the plugin did not describe the topology 'v5e:2x2'\n"
              "   in plugin '" SMALTI_FAKE_PJRT
              "'\n"
              "  have: INVALID_ARGUMENT: Unexpected PJRT_TopologyDescription_Create_Args size: expected 72, got 56.\n"
              "  help: the plugin's version of PJRT does not match this client: install another version of it\n");
  }
}

TEST(Judge, AnIncompatiblePluginGivesNoVerdict) {
  const CompilerFault fault("LARGER", "89");
  const CompilerVerdict v = judged(1, {"v5e"})[0][0];
  ASSERT_TRUE(v.error);
  EXPECT_EQ(v.error->message, "the plugin did not take the program");
  EXPECT_EQ(v.error->help, "the plugin's version of PJRT does not match this client: install another version of it");
}

TEST(Judge, AnExecutableThatCannotBeWrittenIsAnError) {
  JudgeRequest request{.plugin = SMALTI_FAKE_PJRT, .modules = {{"m", std::string(kGood)}}, .chips = {"v5e"}};
  request.executableFile = [](size_t, size_t) { return "/nowhere/there/m.v5e"; };
  const CompilerVerdict v = judge(request, {}, [](size_t) {})[0][0];
  ASSERT_TRUE(v.error);
  EXPECT_EQ(v.error->code, "SM1006") << v.error->str();
}

TEST(Judge, AVerdictTravelsAsJson) {
  CompilerVerdict v;
  v.accepted = true;
  v.fits = "yes";
  v.vmemBytes = 4550656;
  v.xlaVmemOperands = 2;
  v.codeBytes = 55296;
  v.seconds = 0.5;
  v.executable = "add.v5e";
  EXPECT_EQ(toJson(verdictFromJson(toJson(v))), toJson(v));
  CompilerVerdict refused;
  refused.reason = "dma-size";
  refused.diagnostic = {.code = "SM6806", .message = "no", .place = {"k.py", 3, 4}};
  EXPECT_EQ(toJson(verdictFromJson(toJson(refused))), toJson(refused));
}

}  // namespace
}  // namespace smalti::driver
