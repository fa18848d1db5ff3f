#include "base/Lasting.h"
#include "driver/target/cuda/Cuda.h"

#include <fmt/format.h>

#include "cpu/CompileSteps.h"
#include "driver/target/TpuNumerics.h"
#include "driver/target/cuda/DeviceCode.h"
#include "gpu/CheckedPackage.h"
#include "gpu/NoDeviceCode.h"
#include "gpu/host/HostKernel.h"
#include "gpu/pack/CallFolder.h"
#include "machine/observers/Registry.h"
#include "machine/runtime/Compiled.h"

namespace smalti::driver {
namespace {

std::shared_ptr<const TargetKernel> inThisProcess(std::shared_ptr<const machine::CompiledKernel> machine,
                                                  const Contract& c, std::shared_ptr<const gpu::HostKernel> code,
                                                  size_t shadowResults, std::shared_ptr<gpu::CallWatcher> watcher) {
  DeviceCode::Call call;
  if (code)
    call = [code = std::move(code), watcher = std::move(watcher)](const std::vector<Array>& operands,
                                                                  const ExecuteSettings& settings) {
      return code->call(operands, {.seed = settings.seed,
                                   .stepLimit = settings.stepLimit,
                                   .memoryLimitBytes = settings.memoryLimitBytes,
                                   .stop = settings.stop,
                                   .watcher = watcher.get()});
    };
  return std::make_shared<DeviceCode>(std::move(machine), c, std::move(call), shadowResults);
}

/// The meaning of the target's argument: the GPU whose code runs, or a folder, which has a slash.
struct HostArgument {
  gpu::Architecture architecture = gpu::architectures().back();
  std::string folder;
};

Result<HostArgument> parseArgument(std::string_view argument) {
  HostArgument parsed;
  if (argument.empty()) return parsed;
  if (argument.find('/') != std::string_view::npos) {
    parsed.folder = argument;
    return parsed;
  }
  auto named = gpu::architectureNamed(argument);
  if (!named) {
    named.error().help =
        fmt::format("name one of these; a folder to keep calls in has a slash: cuda-host:./{}", argument);
    return fail(std::move(named.error()));
  }
  parsed.architecture = *named;
  return parsed;
}

Result<std::shared_ptr<const TargetKernel>> compileForFibres(const HostArgument& argument, const KernelPackage& given,
                                                             const CompileOptions& options) {
  // The machine's compiler first: it reports errors in a kernel, and device code only accepts what it accepts.
  auto compiled = machine::compileKernel(given, options.contract.numerics);
  if (!compiled) return fail(std::move(compiled.error()));
  const Contract& c = options.contract;
  auto ready = kernelForGpus(given, c);
  if (!ready) return fail(std::move(ready.error()));
  const KernelPackage& package = *ready;
  const gpu::HostOptions hostOptions{
      .architecture = argument.architecture, .poison = c.poison, .checkBlocks = c.checkBounds};
  if (!c.checks.empty()) {
    if (!argument.folder.empty())
      return fail({.code = "SM7202",
                   .message = "no call is saved with --check, which runs other code",
                   .place = {},
                   .have = fmt::format("--target cuda-host:{}", argument.folder),
                   .help = "omit --check, or the folder"});
    // The machine runs the checks of kernels that have no checked code.
    std::shared_ptr<const gpu::HostKernel> code;
    size_t shadows = 0;
    if (auto checked = gpu::withDeviceChecks(package))
      if (auto made = gpu::compileForHost(checked->package, hostOptions)) {
        code = std::move(*made);
        shadows = checked->shadowResults;
      }
    return inThisProcess(std::move(*compiled), c, std::move(code), shadows, nullptr);
  }
  auto code = gpu::compileForHost(package, hostOptions);
  if (!code) return fail(std::move(code.error()));
  std::shared_ptr<gpu::CallWatcher> watcher;
  if (!argument.folder.empty()) {
    auto folders = gpu::CallFolders::make(package, argument.folder, c.poison, c.checkBounds);
    if (!folders) return fail(std::move(folders.error()));
    watcher = std::move(*folders);
  }
  return inThisProcess(std::move(*compiled), c, std::move(*code), 0, std::move(watcher));
}

}  // namespace

Result<KernelPackage> kernelForGpus(const KernelPackage& package, const Contract& c) {
  const std::string_view option = c.semantics != machine::Semantics::tpu ? "--semantics hlo"
                                  : c.naivePipeline                      ? "--naive-pipeline"
                                  : c.cores != 1                         ? "--cores"
                                                                         : "";
  if (!option.empty())
    return fail(
        {.code = "SM7202",
         .message = fmt::format("{} is for the abstract machine: code for GPUs computes as --target cpu does", option),
         .place = {},
         .help = "omit it, or choose --target interpret"});
  if (cpu::namesDevices(package))
    return fail(gpu::noDeviceCode("a kernel that asks which device it is on, copies to another or signals it"));
  auto ready = withNumerics(package, c.numerics);
  if (!ready) return fail(gpu::noDeviceCode(kOnlyMachineRounds));
  return std::move(*ready);
}

namespace {

Target makeCudaHostTarget() {
  return {
      .name = "cuda-host",
      .summary = "code for NVIDIA GPUs, executed by this process, to test it without a GPU; calls are kept in FOLDER",
      .argument = "[GPU|FOLDER]",
      .checks = [](const machine::ObserverRow& row) { return row.onCpu == machine::OnCpu::native; },
      .aheadOfTime = false,
      .available = [](std::string_view) { return Status(); },
      .open = [](std::string_view argument) -> Result<KernelCompiler> {
        auto parsed = parseArgument(argument);
        if (!parsed) return fail(std::move(parsed.error()));
        return [parsed = *parsed](const KernelPackage& package, const CompileOptions& options) {
          return compileForFibres(parsed, package, options);
        };
      }};
}

}  // namespace

const Target& cudaHostTarget() {
  static constinit Lasting<const Target> target;
  return target.get(makeCudaHostTarget);
}

}  // namespace smalti::driver
