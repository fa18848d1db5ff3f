#include "driver/target/cuda/Cuda.h"

#include <algorithm>
#include <charconv>

#include "driver/target/Code.h"
#include "driver/target/KeepLog.h"
#include "driver/target/ReadsOutside.h"
#include "gpu/CheckedPackage.h"
#include "gpu/driver/CudaKernel.h"
#include "gpu/ptx/CachedPtx.h"
#include "machine/observers/Registry.h"
#include "machine/runtime/Compiled.h"

namespace smalti::driver {
namespace {

/// Runs calls on the GPU; the machine reports the error of a call that ended early.
class OnGpu : public TargetKernel {
 public:
  OnGpu(std::shared_ptr<const machine::CompiledKernel> machine, const Contract& contract,
        std::shared_ptr<const gpu::CudaKernel> code, size_t shadowResults)
      : machine_(std::move(machine)), contract_(contract), code_(std::move(code)), shadowResults_(shadowResults) {}

  Result<machine::KernelResult> run(std::span<const std::vector<Array>> operands, const ExecuteSettings& settings,
                                    std::span<Array>) const override {
    if (!code_ || settings.needsMachine()) return runMachine(operands, settings);
    machine::KernelResult all;
    std::vector<Finding> outside;  // the first kind on any device
    for (size_t device = 0; device < operands.size(); ++device) {
      if (Status ok = machine::checkOperands(*machine_, operands[device]); !ok) return fail(std::move(ok.error()));
      if (Status ok = machine::checkGridSteps(*machine_, operands[device], settings.stepLimit); !ok)
        return fail(std::move(ok.error()));
      auto result = code_->call(operands[device],
                                {.stepLimit = settings.stepLimit, .memoryLimitBytes = settings.memoryLimitBytes});
      if (!result) return fail(std::move(result.error()));
      if (outside.empty()) outside = readsOutside(result->end, *machine_);
      if (!resultsAreFinal(result->end, contract_)) return runMachine(operands, settings);
      if (!cpu::removeShadows(result->results, shadowResults_)) return runMachine(operands, settings);
      keepLog(result->log, device, settings, all);
      all.results.push_back(std::move(result->results));
    }
    if (!outside.empty()) all.findings = outside_.named(std::move(outside), *machine_, operands, contract_, settings);
    return all;
  }

  const gpu::CudaKernel* onGpu() const override {
    return shadowResults_ == 0 && contract_.checks.empty() ? code_.get() : nullptr;
  }

 private:
  Result<machine::KernelResult> runMachine(std::span<const std::vector<Array>> operands,
                                           const ExecuteSettings& settings) const {
    return machine::run(*machine_, operands, machineOptionsInPlaceOfCode(contract_, settings), settings.observers);
  }

  std::shared_ptr<const machine::CompiledKernel> machine_;
  Contract contract_;
  mutable ReadsOutside outside_;
  std::shared_ptr<const gpu::CudaKernel> code_;  ///< null: the machine runs the checks
  size_t shadowResults_;                         ///< the last of the code's results (cpu/check/Instrument.h)
};

/// "h100", "1", "h100@1": the architecture of the code, and the number of the GPU that runs it.
struct GpuArgument {
  std::string_view architecture;  ///< empty: the GPU's own
  int number = 0;                 ///< -1: not a number
};

GpuArgument parseGpu(std::string_view argument) {
  const auto isNumber = [](std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  };
  const auto numberOf = [](std::string_view text) {
    int number = -1;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  };
  if (isNumber(argument)) return {.architecture = {}, .number = numberOf(argument)};
  const size_t at = argument.find('@');
  if (at == std::string_view::npos) return {.architecture = argument};
  const std::string_view number = argument.substr(at + 1);
  return {.architecture = argument.substr(0, at), .number = isNumber(number) ? numberOf(number) : -1};
}

Result<std::shared_ptr<const TargetKernel>> compileForGpu(const gpu::CudaGpu& device,
                                                          const gpu::Architecture& architecture,
                                                          const KernelPackage& given, const CompileOptions& options) {
  // The machine's compiler first: it reports errors in a kernel, and device code only accepts what it accepts.
  auto compiled = machine::compileKernel(given, options.contract.numerics);
  if (!compiled) return fail(std::move(compiled.error()));
  const Contract& c = options.contract;
  auto ready = kernelForGpus(given, c);
  if (!ready) return fail(std::move(ready.error()));
  const KernelPackage& package = *ready;
  const auto cache = cpu::openCache(options.cache, options.cacheLimitBytes);
  const auto load = [&](const KernelPackage& kernel) -> Result<std::shared_ptr<const gpu::CudaKernel>> {
    auto code = gpu::cachedPtx(cache.get(), kernel, architecture, c.poison, c.checkBounds);
    if (!code) return fail(std::move(code.error()));
    return gpu::loadKernel(device, kernel, c.poison, *code);
  };
  if (!c.checks.empty()) {
    // The machine runs the checks of kernels that have no checked code.
    const auto checked = gpu::withDeviceChecks(package);
    if (!checked) return std::make_shared<OnGpu>(std::move(*compiled), c, nullptr, 0);
    auto made = load(checked->package);
    if (!made && made.error().code != "SM7201") return fail(std::move(made.error()));
    return std::make_shared<OnGpu>(std::move(*compiled), c, made ? std::move(*made) : nullptr, checked->shadowResults);
  }
  auto kernel = load(package);
  if (!kernel) return fail(std::move(kernel.error()));
  return std::make_shared<OnGpu>(std::move(*compiled), c, std::move(*kernel), 0);
}

Result<KernelCompiler> openGpu(std::string_view argument) {
  const auto driver = gpu::CudaDriver::open();
  if (!driver) return fail(driver.error());
  const GpuArgument wanted = parseGpu(argument);
  auto opened = gpu::CudaGpu::open(**driver, wanted.number);
  if (!opened) return fail(std::move(opened.error()));
  auto architecture =
      wanted.architecture.empty() ? opened->architecture() : gpu::architectureNamed(wanted.architecture);
  if (!architecture) return fail(std::move(architecture.error()));
  return [device = *opened, architecture = *architecture](const KernelPackage& package, const CompileOptions& options) {
    return compileForGpu(device, architecture, package, options);
  };
}

}  // namespace

const Target& cudaTarget() {
  static const Target target{
      .name = "cuda",
      .summary = "an NVIDIA GPU of this machine, the first or number NUMBER, with code for it or for GPU",
      .argument = "[GPU|NUMBER|GPU@NUMBER]",
      .checks = [](const machine::ObserverRow& row) { return row.onCpu == machine::OnCpu::native; },
      .aheadOfTime = false,
      .available = [](std::string_view) -> Status {
        const auto driver = gpu::CudaDriver::open();
        return driver ? Status() : fail(driver.error());
      },
      .open = openGpu,
      .reservesAddressSpace = true,
      .stages = {"ptx", "sass"},
      .inspect = inspectCudaCode};
  return target;
}

}  // namespace smalti::driver
