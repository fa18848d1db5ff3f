// Recorded kernels: which have native code, and which ops of it the machine computes.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "../../LongTest.h"
#include "../../Recordings.h"
#include "cpu/CompileSteps.h"
#include "cpu/NativeKernel.h"
#include "cpu/emit/NativeLowering.h"
#include "interop/Interop.h"

namespace smalti::cpu::testing {
namespace {

TEST(NativeCorpus, NearlyEveryRecordedKernelHasNativeCode) {
  SMALTI_LONG_TEST_OF_GENERATED_CODE();
  namespace fs = std::filesystem;
  const fs::path corpus = smalti::test::recordingsFolder();
  if (!fs::exists(corpus)) GTEST_SKIP() << "no recordings at " << corpus;
  int kernels = 0, natives = 0;
  std::map<std::string, int> reasons, interpreted;
  for (const auto& entry : fs::recursive_directory_iterator(corpus)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".stablehlo.mlir") || path.find("versions") != std::string::npos) continue;
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    auto program = interop::importStableHlo(text.str(), path);
    if (!program) continue;
    for (const KernelPackage& kernel : program->kernels) {
      auto outcome = compileNative(kernel, {});
      ASSERT_TRUE(outcome) << path << "\n" << outcome.error().str();
      ++kernels;
      natives += outcome->kernel != nullptr;
      if (!outcome->kernel) {
        ++reasons[outcome->why.reason];
        // `smalti show --stage plan` prints no plan for it, either. Kernels for several devices have one of their own.
        if (!namesDevices(kernel)) {
          EXPECT_FALSE(planNative(kernel, {})) << path << ": " << outcome->why.text();
        }
      }
      if (outcome->kernel)
        for (const std::string& op : outcome->kernel->report().interpreted) ++interpreted[op];
    }
  }
  std::cout << natives << " of " << kernels << " kernels have native code\n";
  for (const auto& [reason, n] : reasons) std::cout << "  not native: " << n << " " << reason << "\n";
  for (const auto& [op, n] : interpreted) std::cout << "  interpreted: " << n << " " << op << "\n";
  EXPECT_GE(natives, kernels * 9 / 10);
  EXPECT_FALSE(reasons.contains(kOtherPlan)) << "code and plan differ";
}

}  // namespace
}  // namespace smalti::cpu::testing
