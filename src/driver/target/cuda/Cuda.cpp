#include "driver/target/cuda/Cuda.h"

#include <algorithm>
#include <charconv>

#include "base/Lasting.h"
#include "driver/target/Code.h"
#include "driver/target/cuda/DeviceCode.h"
#include "gpu/CheckedPackage.h"
#include "gpu/driver/CudaKernel.h"
#include "gpu/ptx/CachedPtx.h"
#include "machine/observers/Registry.h"
#include "machine/runtime/Compiled.h"

namespace smalti::driver {
namespace {

std::shared_ptr<const TargetKernel> onGpu(std::shared_ptr<const machine::CompiledKernel> machine, const Contract& c,
                                          std::shared_ptr<const gpu::CudaKernel> code, size_t shadowResults) {
  DeviceCode::Call call;
  if (code)
    call = [code](const std::vector<Array>& operands, const ExecuteSettings& settings) {
      return code->call(operands, {.stepLimit = settings.stepLimit, .memoryLimitBytes = settings.memoryLimitBytes});
    };
  const bool takesArraysThere = shadowResults == 0 && c.checks.empty();
  return std::make_shared<DeviceCode>(std::move(machine), c, std::move(call), shadowResults,
                                      takesArraysThere ? std::move(code) : nullptr);
}

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
    auto ptx = gpu::cachedPtx(cache.get(), kernel, architecture, c.poison, c.checkBounds);
    if (!ptx) return fail(std::move(ptx.error()));
    const auto gpu = device.assembledName(architecture);
    if (!gpu) return fail(gpu.error());
    auto cubin = gpu::cachedCubin(cache.get(), ptx->ptx, *gpu);
    return gpu::loadKernel(device, kernel, c.poison,
                           {.ptx = std::move(*ptx), .architecture = architecture, .cubin = std::move(cubin)});
  };
  if (!c.checks.empty()) {
    // The machine runs the checks of kernels that have no checked code.
    const auto checked = gpu::withDeviceChecks(package);
    if (!checked) return onGpu(std::move(*compiled), c, nullptr, 0);
    auto made = load(checked->package);
    if (!made && made.error().code != "SM7201") return fail(std::move(made.error()));
    return onGpu(std::move(*compiled), c, made ? std::move(*made) : nullptr, checked->shadowResults);
  }
  auto kernel = load(package);
  if (!kernel) return fail(std::move(kernel.error()));
  return onGpu(std::move(*compiled), c, std::move(*kernel), 0);
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
  if (Status ok = opened->runs(*architecture); !ok) return fail(std::move(ok.error()));
  return [device = *opened, architecture = *architecture](const KernelPackage& package, const CompileOptions& options) {
    return compileForGpu(device, architecture, package, options);
  };
}

Target makeCudaTarget() {
  return {.name = "cuda",
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
}

}  // namespace

Result<gpu::Architecture> shownArchitecture(std::string_view argument) {
  const GpuArgument wanted = parseGpu(argument);
  if (!wanted.architecture.empty()) return gpu::architectureNamed(wanted.architecture);
  const auto ofGpu = [&]() -> Result<gpu::Architecture> {
    const auto driver = gpu::CudaDriver::open();
    if (!driver) return fail(driver.error());
    const auto found = gpu::CudaGpu::find(**driver, wanted.number);
    if (!found) return fail(found.error());
    return found->architecture();
  };
  auto own = ofGpu();
  return own || !argument.empty() ? own : gpu::architectures().back();
}

const Target& cudaTarget() {
  static constinit Lasting<const Target> target;
  return target.get(makeCudaTarget);
}

}  // namespace smalti::driver
