// --check on the cpu target: native code finds what the machine's observers find, or leaves it to them.
#include <filesystem>
#include <iostream>
#include <map>

#include <gtest/gtest.h>

#include "../LongTest.h"
#include "../Recordings.h"
#include "cpu/CheckedKernel.h"
#include "driver/RunSettings.h"
#include "driver/case/ModuleOrCase.h"
#include "machine/observers/Registry.h"

namespace smalti::driver {
namespace {

namespace fs = std::filesystem;

std::string text(const Result<RunOutcome>& outcome) {
  if (!outcome) return outcome.error().str();
  std::string all;
  for (const machine::Finding& f : outcome->findings)
    all += f.diagnostic.str() + "\n" + std::to_string(f.count) + " times\n";
  return all;
}

Result<RunOutcome> checked(const Program& program, std::span<const Array> inputs, machine::Poison poison,
                           const char* target) {
  RunSettings options;
  options.compile.target = target;
  options.compile.contract.poison = poison;
  checkEverything(options.compile.contract);
  return runProgram(program, inputs, options);
}

/// Both say the same; whether native code alone said it.
bool agree(const LoadedModule& module, std::span<const Array> inputs, machine::Poison poison) {
  const auto machine = checked(*module.program, inputs, poison, "interpret"),
             native = checked(*module.program, inputs, poison, "cpu");
  EXPECT_EQ(text(native), text(machine)) << module.path;
  // Only the machine counts its steps.
  return native && machine && native->statistics.instructions == 0 && machine->statistics.instructions > 0;
}

TEST(Checked, RecordedKernelsAreJudgedAsByTheMachine) {
  SMALTI_LONG_TEST();
  const fs::path corpus = smalti::test::recordingsFolder();
  if (!fs::exists(corpus)) GTEST_SKIP() << "no recordings at " << corpus;
  const auto cases = findCases(corpus.string());
  ASSERT_TRUE(cases);
  int withKernels = 0, natives = 0, shadowed = 0;
  std::map<std::string, int> reasons;
  for (const std::string& folder : *cases) {
    const auto module = loadModuleOrCase(folder);
    if (!module || !module->program || module->program->kernels.empty()) continue;
    const auto inputs = readInputs(*module->recorded, argumentTypes(*module->program), "random", 0);
    if (!inputs) continue;
    ++withKernels;
    const bool native = agree(*module, *inputs, module->recorded->poison);
    natives += native;
    for (const KernelPackage& kernel : module->program->kernels) {
      const auto outcome = cpu::compileChecked(kernel, {});
      ASSERT_TRUE(outcome) << folder;
      if (!outcome->kernel)
        ++reasons[outcome->why.reason];
      else if (!native)
        ++reasons["run again: " + module->recorded->name];
      if (outcome->kernel) shadowed += !outcome->kernel->shadowed().empty();
    }
  }
  std::cout << natives << " of " << withKernels << " cases judged by native code; " << shadowed
            << " kernels with shadows\n";
  for (const auto& [reason, n] : reasons) std::cout << "  " << n << " " << reason << "\n";
  EXPECT_GE(natives, withKernels * 9 / 10);
}

/// An observer that native code knows nothing of.
class Ends final : public machine::Checker {
 public:
  using Checker::Checker;
  void kernelEnd(const machine::Actor&) override {
    context_.findings->add({.code = "TEST", .message = "a kernel has ended", .place = {}});
  }
};

TEST(Checked, AnObserverWithoutNativeEquivalentRunsOnTheMachine) {
  const machine::ObserverRow row{
      "ends", "check-ends",
      [](machine::CheckContext c) -> std::unique_ptr<machine::Checker> { return std::make_unique<Ends>(c); },
      machine::OnCpu::machine};
  const fs::path cases = fs::path(SMALTI_SOURCE_DIR) / "test" / "data" / "cases";
  const auto recorded = readCase((cases / "add_grid_1d").string());
  ASSERT_TRUE(recorded) << recorded.error().str();
  const auto module = loadModule(recorded->modulePath);
  ASSERT_TRUE(module && module->program);
  const auto inputs = readInputs(*recorded, argumentTypes(*module->program), "ones", 0);
  ASSERT_TRUE(inputs);
  for (bool withOthers : {false, true}) {
    RunSettings options;
    options.compile.target = "cpu";
    if (withOthers) options.compile.contract.checks = machine::allChecks();
    options.compile.contract.checks.push_back(&row);
    const auto outcome = runProgram(*module->program, *inputs, options);
    EXPECT_EQ(text(outcome), "error[TEST]: a kernel has ended\n\n1 times\n");
  }
}

TEST(Checked, MistakesAreFoundAsByTheMachine) {
  int found = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(SMALTI_SOURCE_DIR) / "examples" / "mistakes")) {
    if (entry.path().extension() != ".mlir") continue;
    const auto module = loadModuleOrCase(entry.path().string());
    ASSERT_TRUE(module && module->program) << entry.path();
    std::vector<Array> inputs;
    for (const ArrayType& type : argumentTypes(*module->program)) {
      auto array = filledArray(type, "ones", 0);
      ASSERT_TRUE(array);
      inputs.push_back(std::move(*array));
    }
    EXPECT_FALSE(agree(*module, inputs, machine::Poison::intMin)) << entry.path() << ": native code saw nothing";
    ++found;
  }
  EXPECT_GE(found, 7);
}

}  // namespace
}  // namespace smalti::driver
