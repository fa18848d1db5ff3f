#include "gpu/driver/CudaDriver.h"

#include <dlfcn.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/Lasting.h"

namespace smalti::gpu {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";
constexpr int kOldestVersion = 11040;  // PTX 7.4; cuGetProcAddress exists since 11.3
constexpr const char* kHelp =
    "--target cuda-host runs the same code without a GPU; smalti show --target cuda:GPU shows it";

Diagnostic missing(std::string message) {
  return {.code = "SM7205", .message = std::move(message), .place = {}, .help = kHelp};
}

/// cuGetProcAddress of CUDA 12, which can also report why it fails, or of CUDA 11.
class Entries {
 public:
  explicit Entries(void* library)
      : newer_(reinterpret_cast<Newer*>(dlsym(library, "cuGetProcAddress_v2"))),
        older_(reinterpret_cast<Older*>(dlsym(library, "cuGetProcAddress"))) {}

  template <class Function>
  bool find(const char* name, int version, Function*& function) {
    void* address = nullptr;
    const int result = newer_   ? newer_(name, &address, version, 0, nullptr)
                       : older_ ? older_(name, &address, version, 0)
                                : -1;
    function = reinterpret_cast<Function*>(address);
    if (result == 0 && address) return true;
    if (missing_.empty()) missing_ = name;
    return false;
  }
  /// The first function that was not found.
  const std::string& missing() const { return missing_; }

 private:
  using Newer = int(const char*, void**, int, uint64_t, int*);
  using Older = int(const char*, void**, int, uint64_t);
  Newer* newer_;
  Older* older_;
  std::string missing_;
};

/// The version of CUDA as people write it: "12.4".
std::string versionText(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

/// Why a library cannot be loaded.
std::string cannotLoad(const std::string& name) {
  const char* const why = ::dlerror();
  const std::string text = why ? why : "";
  if (text.empty() || text.starts_with(name + ": cannot open shared object file: No such file"))
    return fmt::format("there is no NVIDIA driver: {} cannot be loaded", name);
  return fmt::format("the NVIDIA driver cannot be loaded: {}", text);
}

/// Whether an error leaves the process without its GPU: all further work ends with it (CUDA Driver API, CUresult).
bool losesTheGpu(int error) {
  constexpr int kIllegalAddress = 700, kTimeout = 702, kContextDestroyed = 709, kAssert = 710, kFirstFault = 714,
                kLastFault = 719, kMemoryLeak = 721;
  return error == kIllegalAddress || error == kTimeout || error == kContextDestroyed || error == kAssert ||
         (error >= kFirstFault && error <= kLastFault) || error == kMemoryLeak;
}
constexpr int kOutOfMemory = 2;

}  // namespace

Status CudaDriver::check(int result, std::string_view what) const {
  if (result == 0) return {};
  const char* text = nullptr;
  if (functions_.errorText) functions_.errorText(result, &text);
  return fail({.code = losesTheGpu(result) ? "SM7208" : "SM7205",
               .message = fmt::format("the CUDA driver cannot {}", what),
               .place = {},
               .have = fmt::format("error {}: {}", result, text ? text : "unknown"),
               .help = result == kOutOfMemory ? "smaller arrays, or a GPU with more memory"
                       : losesTheGpu(result)
                           ? "this process has lost the GPU: run it again; --target cuda-host or interpret may show why"
                           : "--target cuda-host runs the same code without a GPU"});
}

Result<CudaDriver> CudaDriver::load(const std::string& name) {
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return fail(missing(cannotLoad(name)));
  Entries entries(library);
  int (*initialise)(unsigned) = nullptr;
  int (*getVersion)(int*) = nullptr;
  CudaDriver driver;
  CudaFunctions& f = driver.functions_;
  // A driver before 11.3 has this function, but none that finds the others.
  getVersion = reinterpret_cast<int (*)(int*)>(::dlsym(library, "cuDriverGetVersion"));
  if (!getVersion) entries.find("cuDriverGetVersion", 2020, getVersion);
  if (!getVersion) return fail(missing(fmt::format("{} is not a CUDA driver: it has no cuDriverGetVersion", name)));
  if (const int result = getVersion(&driver.version_); result != 0)
    return fail(missing(fmt::format("the NVIDIA driver does not tell its version: error {}", result)));
  if (driver.version_ < kOldestVersion) {
    Diagnostic old = missing(fmt::format("the NVIDIA driver is too old: it has CUDA {}", versionText(driver.version_)));
    old.need = fmt::format("CUDA {} or later", versionText(kOldestVersion));
    old.help = "update the driver; " + std::string(kHelp);
    return fail(std::move(old));
  }
  const bool all =
      entries.find("cuInit", 2000, initialise) && entries.find("cuDeviceGetCount", 2000, f.deviceGetCount) &&
      entries.find("cuDeviceGet", 2000, f.deviceGet) && entries.find("cuDeviceGetName", 2000, f.deviceGetName) &&
      entries.find("cuDeviceGetAttribute", 2000, f.deviceGetAttribute) &&
      entries.find("cuDevicePrimaryCtxRetain", 7000, f.primaryContextRetain) &&
      entries.find("cuCtxGetCurrent", 4000, f.contextGetCurrent) &&
      entries.find("cuCtxSetCurrent", 4000, f.contextSetCurrent) &&
      entries.find("cuCtxSynchronize", 2000, f.contextSynchronize) &&
      entries.find("cuModuleLoadDataEx", 2010, f.moduleLoad) && entries.find("cuModuleUnload", 2000, f.moduleUnload) &&
      entries.find("cuModuleGetFunction", 2000, f.moduleGetFunction) &&
      entries.find("cuFuncSetAttribute", 9000, f.functionSetAttribute) &&
      entries.find("cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050, f.occupancy) &&
      entries.find("cuMemAlloc", 3020, f.allocate) && entries.find("cuMemFree", 3020, f.release) &&
      entries.find("cuMemcpyHtoD", 3020, f.copyIn) && entries.find("cuMemcpyDtoH", 3020, f.copyOut) &&
      entries.find("cuLaunchKernel", 4000, f.launch) && entries.find("cuGetErrorString", 6000, f.errorText) &&
      entries.find("cuMemcpyDtoDAsync", 3020, f.copyOnDevice) && entries.find("cuMemsetD8Async", 3020, f.fill8) &&
      entries.find("cuMemsetD16Async", 3020, f.fill16) && entries.find("cuMemsetD32Async", 3020, f.fill32) &&
      entries.find("cuStreamCreate", 2000, f.streamCreate) && entries.find("cuStreamDestroy", 4000, f.streamDestroy) &&
      entries.find("cuStreamWaitEvent", 3020, f.streamWaitEvent) &&
      entries.find("cuEventCreate", 2000, f.eventCreate) && entries.find("cuEventRecord", 2000, f.eventRecord) &&
      entries.find("cuEventDestroy", 4000, f.eventDestroy) &&
      entries.find("cuStreamBeginCapture", 10010, f.captureBegin) &&
      entries.find("cuStreamEndCapture", 10000, f.captureEnd) &&
      entries.find("cuGraphInstantiateWithFlags", 11040, f.graphInstantiate) &&
      entries.find("cuGraphLaunch", 10000, f.graphLaunch) && entries.find("cuGraphDestroy", 10000, f.graphDestroy) &&
      entries.find("cuGraphExecDestroy", 10000, f.graphExecDestroy);
  if (!all)
    return fail(missing(fmt::format("the NVIDIA driver has CUDA {}, but no function {}", versionText(driver.version_),
                                    entries.missing())));
  entries.find("cuStreamIsCapturing", 10000, f.streamIsCapturing);
  entries.find("cuTensorMapEncodeTiled", 12000, f.tensorMapEncode);
  if (const int result = initialise(0); result != 0) {
    const char* text = nullptr;
    f.errorText(result, &text);
    return fail(missing(fmt::format("the NVIDIA driver does not start: {}", text ? text : std::to_string(result))));
  }
  driver.startedBy_ = ::getpid();
  if (Status ok = driver.check(f.deviceGetCount(&driver.devices_), "count the GPUs"); !ok)
    return fail(missing(fmt::format("{}: {}", ok.error().message, ok.error().have)));
  if (driver.devices_ == 0) return fail(missing("there is an NVIDIA driver but no GPU"));
  return driver;
}

Result<const CudaDriver*> CudaDriver::open() {
  struct Opened {
    Result<CudaDriver> driver = load(kLibrary);
  };
  static constinit Lasting<const Opened> kept;
  const Opened& opened = kept.get();
  if (!opened.driver) return fail(opened.driver.error());
  if (Status ok = opened.driver->usableHere(); !ok) return fail(std::move(ok.error()));
  return &*opened.driver;
}

Status CudaDriver::usableHere() const {
  if (startedBy_ == ::getpid()) return {};
  Diagnostic forked = missing("the parent process was already using the GPU, so that a forked child cannot");
  forked.help = "start the child before the GPU is used, or without fork (Python: multiprocessing's \"spawn\")";
  return fail(std::move(forked));
}

Status CudaDriver::assembles(const Architecture& architecture) const {
  const int need = oldestCuda(architecture);
  if (version_ >= need) return {};
  return fail({.code = "SM7205",
               .message = fmt::format("the NVIDIA driver is too old to assemble code for {}", architecture.name),
               .place = {},
               .need = fmt::format("CUDA {} or later", versionText(need)),
               .have = fmt::format("CUDA {}", versionText(version_)),
               .help = "update the driver, or install ptxas of that version: pip install nvidia-cuda-nvcc"});
}

}  // namespace smalti::gpu
