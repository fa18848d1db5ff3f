// What the language asks of the driver: targets, options, exporters (lang/call/Backend.h).
#include "lang/call/Backend.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "base/Source.h"
#include "driver/ApiReport.h"
#include "driver/RunSettings.h"
#include "driver/Target.h"
#include "interop/Interop.h"
#include "smalti/module.h"

namespace smalti {
namespace {

/// Options in force on this thread: the SMALTI_… variables until use_settings is called.
struct InForce {
  uint64_t serial = 1;
  Result<driver::RunOptions> options;
};

InForce& inForce() {
  thread_local InForce state = [] {
    OptionSet set;
    if (Status ok = set.readEnvironment([](const char* name) { return std::getenv(name); }); !ok)
      return InForce{1, fail(ok.error())};
    return InForce{1, driver::runOptions(set.values)};
  }();
  return state;
}

/// Findings of a plain call: there are some only where an option asks for checks (SMALTI_CHECK=on).
void tell(std::vector<machine::Finding> findings) {
  if (findings.empty()) return;
  std::fflush(stdout);
  for (machine::Finding& finding : findings) {
    showSource(finding.diagnostic);
    std::fprintf(stderr, "%s\n", finding.diagnostic.str().c_str());
  }
}

class TargetExecutable : public lang::Executable {
 public:
  TargetExecutable(std::shared_ptr<const driver::TargetKernel> kernel, driver::RunOptions options)
      : kernel_(std::move(kernel)), options_(std::move(options)) {}

  Result<std::vector<Array>> call(std::vector<Array> operands) const override {
    auto result = kernel_->run({&operands, 1}, options_);
    if (!result) return fail(std::move(result.error()));
    for (const std::string& line : result->log) std::printf("%s\n", line.c_str());
    tell(std::move(result->findings));
    return std::move(result->results[0]);
  }

  Result<RunReport> run(std::vector<Array> operands) const override {
    auto result = kernel_->run({&operands, 1}, options_);
    if (!result) return fail(std::move(result.error()));
    return driver::report(
        {std::move(result->results[0]), std::move(result->findings), std::move(result->log), result->statistics});
  }

 private:
  std::shared_ptr<const driver::TargetKernel> kernel_;
  driver::RunOptions options_;
};

}  // namespace

void driver::useOptions(RunOptions options) {
  static std::atomic<uint64_t> serial{1};  // of all threads: calls are shared among them
  inForce() = {++serial, std::move(options)};
}

namespace lang {

uint64_t settingsSerial() { return inForce().serial; }

Result<std::shared_ptr<const Executable>> compile(const KernelPackage& package, Purpose purpose) {
  Result<driver::RunOptions> options = inForce().options;
  if (!options) return fail(options.error());
  if (purpose == Purpose::check) driver::checkEverything(options->machine);
  auto kernel = driver::compileKernel(package, *options);
  if (!kernel) return fail(std::move(kernel.error()));
  return std::make_shared<TargetExecutable>(std::move(*kernel), std::move(*options));
}

Result<std::string> exportStablehlo(const Program& program, int version) {
  return interop::exportStableHlo(program, version);
}
Result<std::string> exportBytecode(const KernelPackage& package, int version) {
  return interop::writeBytecode(*package.module, version);
}
std::string mosaicText(const KernelPackage& package, bool generic) {
  return interop::exportMosaicText(package, generic);
}

}  // namespace lang
}  // namespace smalti
