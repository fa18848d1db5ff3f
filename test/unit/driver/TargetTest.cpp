// The registry of targets: one that a test brings is found, described, refused and run like those that are there.
#include "driver/target/Target.h"
#include "gpu/driver/CudaDriver.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "RunText.h"
#include "base/Options.h"
#include "driver/case/Warm.h"
#include "driver/cli/show/ShowCode.h"
#include "driver/program/RunProgram.h"
#include "driver/target/Describe.h"
#include "driver/target/interpret/Interpret.h"
#include "machine/observers/Registry.h"

namespace smalti::driver {
namespace {

using namespace testing;

std::string textOfCase(const std::string& name) {
  std::ifstream file(std::string(SMALTI_SOURCE_DIR) + "/test/data/cases/" + name + "/module.stablehlo.mlir");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Fills results with a number: the argument.
class Filling : public TargetKernel {
 public:
  Filling(std::vector<ArrayType> results, int number) : results_(std::move(results)), number_(number) {}
  std::optional<CodeReport> code() const override { return CodeReport{.notCacheable = "it is a number"}; }
  Result<machine::KernelResult> run(std::span<const std::vector<Array>> operands, const ExecuteSettings&,
                                    std::span<Array>) const override {
    machine::KernelResult result;
    for (size_t device = 0; device < operands.size(); ++device) {
      auto& mine = result.results.emplace_back();
      for (const ArrayType& t : results_) mine.push_back(make(t, {static_cast<double>(number_)}));
    }
    return result;
  }

 private:
  std::vector<ArrayType> results_;
  int number_;
};

class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~ScopedVariable() { ::unsetenv(name_); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
};

int opened = 0;

Target filling(Status available) {
  return {.name = "fill",
          .summary = "writes a number and computes nothing",
          .argument = "NUMBER",
          .checks = [](const machine::ObserverRow&) { return false; },
          .aheadOfTime = true,
          .available = [available](std::string_view) { return available; },
          .open = [](std::string_view argument) -> Result<KernelCompiler> {
            ++opened;
            if (argument.empty())
              return fail({.code = "SM5007", .message = "fill needs a number", .place = {}, .need = "fill:NUMBER"});
            const int number = std::stoi(std::string(argument));
            return [number](const KernelPackage& kernel,
                            const CompileOptions&) -> Result<std::shared_ptr<const TargetKernel>> {
              return std::make_shared<Filling>(kernel.results, number);
            };
          }};
}

RunSettings on(const std::string& target) {
  RunSettings settings;
  settings.compile.target = target;
  return settings;
}

const ArrayType kOperand{DType::i32, {32, 128}};

TEST(Targets, ARegisteredTargetRunsKernelsWithItsArgument) {
  const RegisteredTarget registered(filling({}));
  opened = 0;
  const auto results = runText(textOfCase("alias_partial_update"), {make(kOperand, {5})}, on("fill:42"));
  ASSERT_TRUE(results) << results.error().str();
  EXPECT_EQ(numbers((*results)[0]), std::vector<double>(32 * 128, 42));
  EXPECT_EQ(opened, 1);  // the argument is read once
}

TEST(Targets, ARegisteredTargetIsAValueOfTheOption) {
  const OptionRow& row = *findOption("target");
  EXPECT_EQ(row.allowed(), "interpret|cpu|cuda[:GPU|NUMBER|GPU@NUMBER]|cuda-host[:GPU|FOLDER]|sim:CHIP|tpu[:PLUGIN]");
  const RegisteredTarget registered(filling({}));
  EXPECT_EQ(row.allowed(),
            "interpret|cpu|cuda[:GPU|NUMBER|GPU@NUMBER]|cuda-host[:GPU|FOLDER]|sim:CHIP|tpu[:PLUGIN]|fill:NUMBER");
  OptionSet options;
  EXPECT_TRUE(options.set(row, "fill:3", Origin::commandLine, "--target"));
  EXPECT_EQ(options.values.target, "fill:3");
  EXPECT_EQ(
      options.set(row, "abacus", Origin::commandLine, "--target").error().str(),
      "error[SM1011]: --target cannot be 'abacus'\n"
      "  need: interpret|cpu|cuda[:GPU|NUMBER|GPU@NUMBER]|cuda-host[:GPU|FOLDER]|sim:CHIP|tpu[:PLUGIN]|fill:NUMBER\n"
      "  help: target: what runs the kernels (smalti env describes each)\n");
  EXPECT_EQ(options.set(row, "cpu:avx512", Origin::commandLine, "--target").error().str(),
            "error[SM1011]: --target cannot be 'cpu:avx512'\n"
            "  need: cpu, and nothing after it\n"
            "  have: cpu:avx512\n"
            "  help: target: what runs the kernels (smalti env describes each)\n");
}

TEST(Targets, ARegisteredTargetsCodeIsShown) {
  EXPECT_EQ(cli::codeStages(), (std::vector<std::string>{"plan", "llvm", "optimised", "assembly", "ptx", "sass"}));
  Target target = filling({});
  target.stages = {"number"};
  target.inspect = [](const KernelPackage&, const CodeRequest&) -> Result<CodeView> { return CodeView(); };
  const RegisteredTarget registered(target);
  EXPECT_EQ(cli::codeStages(),
            (std::vector<std::string>{"plan", "llvm", "optimised", "assembly", "ptx", "sass", "number"}));
  EXPECT_EQ(cli::targetOfStage("number", "interpret")->name, "fill");
  EXPECT_EQ(cli::targetOfStage("all", "fill:3")->name, "fill");
  EXPECT_EQ(cli::targetOfStage("llvm", "fill:3")->name, "cpu");
  EXPECT_EQ(cli::targetOfStage("all", "interpret"), nullptr);
}

TEST(Targets, TheCacheIsWarmedForARegisteredTarget) {
  Target target = filling({});
  target.argument = {};
  target.open = [](std::string_view) -> Result<KernelCompiler> {
    return [](const KernelPackage& kernel, const CompileOptions&) -> Result<std::shared_ptr<const TargetKernel>> {
      return std::make_shared<Filling>(kernel.results, 1);
    };
  };
  const RegisteredTarget registered(target);
  Options options;
  options.cache = ::testing::TempDir() + "cache-of-targets";
  const std::vector<std::string> paths{std::string(SMALTI_SOURCE_DIR) + "/test/data/cases/alias_partial_update"};
  const auto outcomes = warmCache(paths, loadModuleOrCase, options, [](size_t) {});
  std::filesystem::remove_all(options.cache);
  ASSERT_EQ(outcomes.size(), 1U);
  ASSERT_FALSE(outcomes[0].diagnostic) << outcomes[0].diagnostic->str();
  ASSERT_EQ(outcomes[0].kernels.size(), 2U);
  EXPECT_EQ(outcomes[0].kernels[0].target, "cpu");
  EXPECT_EQ(outcomes[0].kernels[0].state, CacheWarmStatus::compiled);
  EXPECT_EQ(outcomes[0].kernels[1].target, "fill");
  EXPECT_EQ(outcomes[0].kernels[1].state, CacheWarmStatus::notKept);
  EXPECT_EQ(outcomes[0].kernels[1].reason, "it is a number");
}

TEST(Targets, WhyOneIsNotAvailableIsDescribed) {
  const RegisteredTarget registered(
      filling(fail({.code = "SM5008", .message = "no abacus was found on the table", .place = {}})));
  const ScopedVariable plugin("TPU_LIBRARY_PATH", "named");  // so that no TPU is missed here
  const auto cuda = gpu::CudaDriver::open();
  EXPECT_EQ(
      describeTargets(),
      "  interpret: the abstract machine without a clock: op by op, checks everything\n"
      "  cpu: native code for this processor\n"
      "  cuda[:GPU|NUMBER|GPU@NUMBER]: an NVIDIA GPU of this machine, the first or number NUMBER, with code for it or "
      "for GPU\n" +
          (cuda ? "" : "    not available: " + cuda.error().message + "\n") +
          "  cuda-host[:GPU|FOLDER]: code for NVIDIA GPUs, executed by this process, to test it without a GPU; "
          "calls are kept in FOLDER\n"
          "  sim:CHIP: a simulated TPU: the machine's results with that chip's numerics, and a predicted time\n"
          "  tpu[:PLUGIN]: the TPUs of this machine, or the devices of another PJRT plugin: the whole program, "
          "compiled by the plugin\n"
          "  fill:NUMBER: writes a number and computes nothing\n"
          "    not available: no abacus was found on the table\n");
  const Json row = targetsJson().back();
  EXPECT_EQ(row["available"], false);
  EXPECT_EQ(row["unavailable_because"], "no abacus was found on the table");
}

TEST(Targets, SM5006_UnknownTargetsAreNamed) {
  const auto results = runText(moduleOf("() -> ()", "return"), {}, on("abacus"));
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().str(),
            "error[SM5006]: there is no target 'abacus'\n"
            "  need: interpret|cpu|cuda[:GPU|NUMBER|GPU@NUMBER]|cuda-host[:GPU|FOLDER]|sim:CHIP|tpu[:PLUGIN]\n"
            "  help: choose one of these; smalti env describes them\n");
}

TEST(Targets, SM5007_AnArgumentOfATargetThatTakesNone) {
  const auto results = runText(moduleOf("() -> ()", "return"), {}, on("interpret:fast"));
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().str(),
            "error[SM5007]: the target 'interpret' takes no argument\n"
            "  need: interpret, and nothing after it\n"
            "  have: interpret:fast\n"
            "  help: omit the colon and what follows it\n");
}

TEST(Targets, SM5007_AnArgumentThatIsMissing) {
  const auto results = runText(moduleOf("() -> ()", "return"), {}, on("sim"));
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().str(),
            "error[SM5007]: the target 'sim' takes an argument\n"
            "  need: sim:CHIP\n"
            "  have: sim\n"
            "  help: smalti env describes targets\n");
}

TEST(Targets, SM5008_ATargetThatIsNotAvailable) {
  const RegisteredTarget registered(
      filling(fail({.code = "SM5008", .message = "no abacus was found on the table", .place = {}})));
  opened = 0;
  const auto results = runText(textOfCase("alias_partial_update"), {make(kOperand, {5})}, on("fill:42"));
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().str(),
            "error[SM5008]: the target 'fill' cannot run here\n"
            "  have: no abacus was found on the table\n"
            "  help: choose another target; smalti env lists the available ones\n");
  EXPECT_EQ(opened, 0);
}

TEST(Targets, ChecksThatATargetLacksAreTheMachines) {
  const RegisteredTarget registered(filling({}));
  const Array x = make(kOperand, {5});
  RunSettings settings = on("fill:42");
  settings.compile.contract.checks = machine::allChecks();
  const auto checked = runText(textOfCase("alias_partial_update"), {x}, settings);
  const auto machine = runText(textOfCase("alias_partial_update"), {x}, on("interpret"));
  ASSERT_TRUE(checked && machine);
  EXPECT_EQ(numbers((*checked)[0]), numbers((*machine)[0]));
}

/// Refuses each kernel by its number, the later ones sooner.
Target refusing() {
  return {.name = "refuse",
          .summary = "compiles nothing",
          .argument = {},
          .checks = [](const machine::ObserverRow&) { return false; },
          .aheadOfTime = true,
          .available = [](std::string_view) { return Status(); },
          .open = [](std::string_view) -> Result<KernelCompiler> {
            return
                [](const KernelPackage& kernel, const CompileOptions&) -> Result<std::shared_ptr<const TargetKernel>> {
                  return fail({.code = "SM9001", .message = "refused " + kernel.results[0].str(), .place = {}});
                };
          }};
}

TEST(Targets, OfSeveralErrorsThatOfTheFirstKernelIsReported) {
  const RegisteredTarget registered(refusing());
  auto program = interop::importStableHlo(textOfCase("alias_partial_update"), "test.mlir");
  ASSERT_TRUE(program);
  for (int i = 1; i < 12; ++i) program->kernels.push_back(program->kernels[0].copy());
  for (size_t i = 0; i < program->kernels.size(); ++i) program->kernels[i].name = "kernel" + std::to_string(i);
  CompileOptions options;
  options.target = "refuse";
  for (int round = 0; round < 20; ++round) {
    const auto compiled = compileProgram({std::shared_ptr<void>(), &*program}, options);
    ASSERT_FALSE(compiled);
    EXPECT_EQ(compiled.error().where, std::vector<std::string>{"kernel 'kernel0'"});
  }
}

TEST(Targets, KernelsOfOneContextAreCompiledAtOnce) {
  auto program = interop::importStableHlo(textOfCase("alias_partial_update"), "test.mlir");
  ASSERT_TRUE(program);
  for (int i = 1; i < 8; ++i) program->kernels.push_back(program->kernels[0].copy());
  CompileOptions options;
  options.target = "cpu";
  const auto compiled = compileProgram({std::shared_ptr<void>(), &*program}, options);
  ASSERT_TRUE(compiled) << compiled.error().str();
  const std::vector<Array> arguments{make(kOperand, {5})};
  const auto native = run(**compiled, arguments, {});
  const auto machine = runText(textOfCase("alias_partial_update"), arguments, on("interpret"));
  ASSERT_TRUE(native && machine);
  EXPECT_EQ(numbers(native->results[0]), numbers((*machine)[0]));
}

}  // namespace
}  // namespace smalti::driver
