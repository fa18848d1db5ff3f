#include "driver/target/cuda/Cuda.h"

#include "driver/target/Code.h"
#include "gpu/driver/CudaKernel.h"
#include "machine/runtime/Compiled.h"

namespace smalti::driver {
namespace {

/// Calls on the GPU; the machine says what went wrong in one that ended early.
class OnGpu : public TargetKernel {
 public:
  OnGpu(std::shared_ptr<const machine::CompiledKernel> machine, const Contract& contract,
        std::shared_ptr<const gpu::CudaKernel> code)
      : machine_(std::move(machine)), contract_(contract), code_(std::move(code)) {}

  Result<machine::KernelResult> run(std::span<const std::vector<Array>> operands, const ExecuteSettings& settings,
                                    std::span<Array>) const override {
    if (settings.needsMachine()) return runMachine(operands, settings);
    machine::KernelResult all;
    for (const std::vector<Array>& ofDevice : operands) {
      if (Status ok = machine::checkOperands(*machine_, ofDevice); !ok) return fail(std::move(ok.error()));
      if (Status ok = machine::checkGridSteps(*machine_, ofDevice, settings.stepLimit); !ok)
        return fail(std::move(ok.error()));
      bool fault = false;
      auto results = code_->call(
          ofDevice, {.stepLimit = settings.stepLimit, .memoryLimitBytes = settings.memoryLimitBytes}, fault);
      if (!results) return fail(std::move(results.error()));
      if (fault) return runMachine(operands, settings);
      all.results.push_back(std::move(*results));
    }
    return all;
  }

 private:
  Result<machine::KernelResult> runMachine(std::span<const std::vector<Array>> operands,
                                           const ExecuteSettings& settings) const {
    return machine::run(*machine_, operands, machineOptions(contract_, settings), settings.observers);
  }

  std::shared_ptr<const machine::CompiledKernel> machine_;
  Contract contract_;
  std::shared_ptr<const gpu::CudaKernel> code_;
};

/// The named GPU, or the one that is there.
Result<gpu::Architecture> architectureFor(std::string_view argument, const gpu::CudaDriver& driver) {
  return argument.empty() ? gpu::presentArchitecture(driver) : gpu::architectureNamed(argument);
}

Result<std::shared_ptr<const TargetKernel>> compileForGpu(const gpu::CudaDriver& driver,
                                                          const gpu::Architecture& architecture,
                                                          const KernelPackage& package, const CompileOptions& options) {
  // The machine's compiler first: it says what is wrong with a kernel, and device code is only made of what it takes.
  auto compiled = machine::compileKernel(package, options.contract.numerics);
  if (!compiled) return fail(std::move(compiled.error()));
  const Contract& c = options.contract;
  if (Status ok = takenByGpus(package, c); !ok) return fail(std::move(ok.error()));
  auto code = gpu::compileToPtx(package, architecture, c.poison, c.checkBounds);
  if (!code) return fail(std::move(code.error()));
  auto kernel = gpu::loadKernel(driver, package, c.poison, *code);
  if (!kernel) return fail(std::move(kernel.error()));
  return std::make_shared<OnGpu>(std::move(*compiled), c, std::move(*kernel));
}

}  // namespace

const Target& cudaTarget() {
  static const Target target{.name = "cuda",
                             .summary = "the NVIDIA GPU of this machine: code for it, or for the one that is named",
                             .argument = "[GPU]",
                             .checks = [](const machine::ObserverRow&) { return false; },
                             .aheadOfTime = false,
                             .available = [](std::string_view) -> Status {
                               const auto driver = gpu::CudaDriver::open();
                               return driver ? Status() : fail(driver.error());
                             },
                             .open = [](std::string_view argument) -> Result<KernelCompiler> {
                               const auto driver = gpu::CudaDriver::open();
                               if (!driver) return fail(driver.error());
                               auto architecture = architectureFor(argument, **driver);
                               if (!architecture) return fail(std::move(architecture.error()));
                               return [driver = *driver, architecture = *architecture](const KernelPackage& package,
                                                                                       const CompileOptions& options) {
                                 return compileForGpu(*driver, architecture, package, options);
                               };
                             },
                             .stages = {"ptx", "sass"},
                             .inspect = inspectCudaCode};
  return target;
}

}  // namespace smalti::driver
