#include "gpu/driver/CudaKernel.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/memory/MemoryAccount.h"
#include "cpu/runtime/CallArrays.h"
#include "gpu/driver/DeviceMemory.h"
#include "ir/KernelPackage.h"
#include "ir/facts/GridBounds.h"

namespace smalti::gpu {
namespace {

// CUdevice_attribute, CUfunction_attribute, CUjit_option of cuda.h.
constexpr int kProcessors = 16, kMostShared = 97, kDynamicShared = 8, kErrorLog = 5, kErrorLogBytes = 6;
/// Most iterations of loops in a block, more than anybody would wait for. A kernel that does not end would block the
/// GPU.
constexpr int64_t kMaxIterations = int64_t{1} << 40;

class LoadedKernel : public CudaKernel, public std::enable_shared_from_this<LoadedKernel> {
 public:
  LoadedKernel(const CudaGpu& gpu, const KernelPackage& package, eval::Poison poison, const DeviceKernel& lowered)
      : gpu_(gpu), driver_(gpu.driver()), arrays_(package, poison, lowered.written), lowered_(lowered) {}
  ~LoadedKernel() override {
    if (!module_) return;
    const CurrentGpu current(gpu_);
    if (current.status()) driver_.call().moduleUnload(module_);
  }

  Status load(const GpuCode& code) {
    const CurrentGpu current(gpu_);
    if (!current.status()) return current.status();
    if (!code.cubin || driver_.call().moduleLoad(&module_, code.cubin->data(), 0, nullptr, nullptr) != 0)
      if (Status ok = assemble(code); !ok) return ok;
    if (Status ok = driver_.check(driver_.call().moduleGetFunction(&function_, module_, kKernelSymbol),
                                  "find the kernel in its code");
        !ok)
      return ok;
    const auto shared = static_cast<int>(lowered_.sharedBytes);
    const auto mostShared = gpu_.attribute(kMostShared), processors = gpu_.attribute(kProcessors);
    if (!mostShared) return fail(mostShared.error());
    if (!processors) return fail(processors.error());
    if (shared > *mostShared)
      return fail({.code = "SM7210",
                   .message = fmt::format("the code for {} needs more shared memory than GPU {} has",
                                          code.architecture.name, gpu_.number()),
                   .place = {},
                   .need = fmt::format("{} bytes for a block of threads", shared),
                   .have = fmt::format("{} bytes", *mostShared),
                   .help = "omit the GPU's name, so that the code is for the GPU that is there"});
    if (Status ok = driver_.check(driver_.call().functionSetAttribute(function_, kDynamicShared, shared),
                                  fmt::format("give a block {} bytes of shared memory", shared));
        !ok)
      return ok;
    int perProcessor = 0;
    driver_.call().occupancy(&perProcessor, function_, lowered_.allThreads(), static_cast<size_t>(shared));
    blocksAtOnce_ = std::max<int64_t>(1, int64_t{perProcessor} * *processors);
    return {};
  }

  const CudaGpu& gpu() const override { return gpu_; }

  Result<std::unique_ptr<BoundKernel>> bind(std::span<const CudaAddress> operands, std::span<const CudaAddress> results,
                                            const CudaCall& options) const override {
    if (Status ok = bindable(); !ok) return fail(std::move(ok.error()));
    const CurrentGpu current(gpu_);
    if (!current.status()) return fail(current.status().error());
    std::vector<DeviceMemory> memory;
    const auto keep = [&](Result<DeviceMemory> made) -> Result<CudaAddress> {
      if (!made) return fail(std::move(made.error()));
      memory.push_back(std::move(*made));
      return memory.back().at();
    };
    std::vector<BoundKernel::Copy> copies;
    std::vector<CudaAddress> addresses(operands.begin(), operands.end());
    addresses.insert(addresses.end(), results.begin(), results.end());
    for (size_t i = 0; i < operands.size(); ++i) {
      const int alias = arrays_.aliasOf(i);
      const int64_t bytes = arrays_.operandBytes(i);
      if (alias < 0 && !arrays_.isOverwritten(i)) continue;
      if (alias >= 0) {
        addresses[i] = results[static_cast<size_t>(alias)];
      } else {
        DeviceMemory copy(gpu_);
        if (Status ok = copy.allocate(bytes); !ok) return fail(std::move(ok.error()));
        addresses[i] = copy.at();
        memory.push_back(std::move(copy));
      }
      if (bytes > 0 && addresses[i] != operands[i]) copies.push_back({addresses[i], operands[i], bytes});
    }
    std::vector<BoundKernel::Fill> fills;
    for (size_t i = 0; i < results.size(); ++i)
      if (const auto fill = arrays_.fillOf(i); fill && fill->elements > 0)
        fills.push_back({results[i], fill->elements, fill->elementBytes, fill->bits});
    // An operand on the GPU may give the size of an axis; blocks without points end at once.
    const bool isDynamic = std::ranges::count(lowered_.sharedBounds, kDynamicBound) > 0;
    Launch launch = launchOf(isDynamic ? blocksAtOnce_ : gridPoints(lowered_.sharedBounds), options);
    const auto arrays = keep(
        DeviceMemory::copyOf(gpu_, addresses.data(), static_cast<int64_t>(addresses.size() * sizeof(CudaAddress))));
    if (!arrays) return fail(arrays.error());
    const int32_t none = 0;
    const auto ended = keep(DeviceMemory::copyOf(gpu_, &none, sizeof(none)));
    if (!ended) return fail(ended.error());
    DeviceMemory workspace(gpu_);
    if (Status ok = allocateWorkspace(workspace, launch.blocks); !ok) return fail(std::move(ok.error()));
    launch.arrays = *arrays;
    launch.ended = *ended;
    launch.workspace = workspace.at();
    memory.push_back(std::move(workspace));
    auto maps = encodeTensorMaps(driver_, lowered_.maps, addresses);
    if (!maps) return fail(std::move(maps.error()));
    launch.maps = std::move(*maps);
    return std::make_unique<BoundKernel>(gpu_, shared_from_this(), std::move(launch), std::move(copies),
                                         std::move(fills), std::move(memory));
  }

  Result<LaunchResult> call(std::span<const Array> operands, const CudaCall& options) const override {
    return launchWithPrintBuffer(lowered_, [&](int64_t printBytes) { return callOnce(operands, options, printBytes); });
  }

 private:
  /// Lets the driver assemble the PTX.
  Status assemble(const GpuCode& code) {
    if (Status ok = driver_.assembles(code.architecture); !ok) return ok;
    std::array<char, 2048> log{};
    std::array<int, 2> options{kErrorLog, kErrorLogBytes};
    std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size())};
    Status ok =
        driver_.check(driver_.call().moduleLoad(&module_, code.ptx.ptx.c_str(), 2, options.data(), values.data()),
                      fmt::format("assemble the kernel for {}", code.architecture.name));
    if (!ok && log[0] != 0) ok.error().have += fmt::format(": {}", log.data());
    return ok;
  }

  /// Allocates the memory for the values of all blocks, or of as many as the GPU has memory for.
  Status allocateWorkspace(DeviceMemory& workspace, int64_t& blocks) const {
    Status ok = workspace.allocate(blocks * lowered_.workspaceBytes);
    for (; !ok && blocks > 1; ok = workspace.allocate(blocks * lowered_.workspaceBytes)) blocks /= 2;
    return ok;
  }

  Result<LaunchResult> callOnce(std::span<const Array> operands, const CudaCall& options, int64_t printBytes) const {
    const CurrentGpu current(gpu_);
    if (!current.status()) return fail(current.status().error());
    MemoryAccount memory(options.memoryLimitBytes);
    cpu::CallArrays arrays;
    if (Status ok = arrays_.prepare(operands, {}, memory, arrays); !ok) return fail(std::move(ok.error()));
    // Each array of the call is copied to the device; an operand that is aliased to a result shares its copy.
    std::vector<DeviceMemory> copies;
    std::vector<CudaAddress> addresses(arrays.pointers.size());
    for (size_t i = arrays.pointers.size(); i-- > 0;) {
      const bool isResult = i >= operands.size();
      if (const int alias = isResult ? -1 : arrays_.aliasOf(i); alias >= 0) {
        addresses[i] = addresses[operands.size() + static_cast<size_t>(alias)];
        continue;
      }
      const int64_t bytes = isResult ? arrays_.resultBytes(i - operands.size()) : arrays_.operandBytes(i);
      auto copy = DeviceMemory::copyOf(gpu_, arrays.pointers[i], bytes);
      if (!copy) return fail(std::move(copy.error()));
      addresses[i] = copy->at();
      copies.push_back(std::move(*copy));
    }
    Launch launch = launchOf(gridPoints(boundsOfCall(lowered_.sharedBounds, operands)), options);
    int64_t& blocks = launch.blocks;
    std::vector<int64_t> buffer(static_cast<size_t>((PrintOps::kHeaderBytes + printBytes) / 8));
    buffer[0] = printBytes;
    auto onDevice = DeviceMemory::copyOf(gpu_, buffer.data(), static_cast<int64_t>(buffer.size() * sizeof(int64_t)));
    if (!onDevice) return fail(std::move(onDevice.error()));
    addresses.push_back(onDevice->at());
    auto pointers =
        DeviceMemory::copyOf(gpu_, addresses.data(), static_cast<int64_t>(addresses.size() * sizeof(CudaAddress)));
    if (!pointers) return fail(std::move(pointers.error()));
    int32_t status = 0;
    auto ended = DeviceMemory::copyOf(gpu_, &status, sizeof(status));
    if (!ended) return fail(std::move(ended.error()));
    DeviceMemory workspace(gpu_);
    if (Status ok = allocateWorkspace(workspace, blocks); !ok) return fail(std::move(ok.error()));
    if (Status ok = memory.take(blocks * lowered_.workspaceBytes, "the kernel's values"); !ok)
      return fail(std::move(ok.error()));
    auto maps = encodeTensorMaps(driver_, lowered_.maps, addresses);
    if (!maps) return fail(std::move(maps.error()));
    launch.arrays = pointers->at();
    launch.workspace = workspace.at();
    launch.ended = ended->at();
    launch.maps = std::move(*maps);
    if (Status ok = start(driver_, std::move(launch), nullptr); !ok) return fail(std::move(ok.error()));
    if (Status ok = driver_.check(driver_.call().contextSynchronize(), "run the kernel to its end"); !ok)
      return fail(std::move(ok.error()));
    if (Status ok =
            driver_.check(driver_.call().copyOut(&status, ended->at(), sizeof(status)), "read how a kernel ended");
        !ok)
      return fail(std::move(ok.error()));
    LaunchResult result{.end = static_cast<KernelStatus>(status), .results = {}};
    if (result.end == KernelStatus::stepLimit && options.stepLimit <= 0) return fail(endless());
    if (!isComplete(result.end)) return result;
    const auto copyOut = [&](void* to, CudaAddress from, size_t bytes, const std::string& what) {
      return driver_.check(driver_.call().copyOut(to, from, bytes), fmt::format("copy {} from the GPU", what));
    };
    for (size_t i = 0; i < arrays.results.size(); ++i)
      if (Status ok = copyOut(arrays.results[i].data(), addresses[operands.size() + i],
                              static_cast<size_t>(arrays_.resultBytes(i)), fmt::format("output {}", i));
          !ok)
        return fail(std::move(ok.error()));
    if (lowered_.prints) {
      if (Status ok = copyOut(buffer.data(), onDevice->at(), buffer.size() * sizeof(int64_t), "the kernel's prints");
          !ok)
        return fail(std::move(ok.error()));
      result.log = lowered_.prints->read(std::as_writable_bytes(std::span(buffer)));
    }
    auto results = arrays_.outside(std::move(arrays.results), memory);
    if (!results) return fail(std::move(results.error()));
    result.results = std::move(*results);
    return result;
  }

  Status bindable() const {
    const auto refuse = [](std::string what) -> Status {
      return fail({.code = "SM7207",
                   .message = "the kernel cannot be called with arrays on the GPU",
                   .place = {},
                   .have = std::move(what),
                   .help = "call it with arrays of the host: execute"});
    };
    if (lowered_.prints) return refuse("debug prints");
    if (const std::string array = arrays_.describeConversion(); !array.empty()) return refuse(array);
    return {};
  }

  /// Without a step limit, the abstract machine would not end either.
  static Diagnostic endless() {
    return {.code = "SM7206",
            .message = "the kernel did not end on the GPU",
            .place = {},
            .need = fmt::format("at most {} iterations of loops in a block of threads", kMaxIterations),
            .help = "look for a loop whose condition never becomes false; --step-limit ends it earlier"};
  }

  /// The launch without the addresses of its memory.
  Launch launchOf(int64_t points, const CudaCall& options) const {
    return {.function = function_,
            .blocks = std::clamp<int64_t>(points, 1, blocksAtOnce_),
            .points = points,
            .iterations = options.stepLimit > 0 ? std::min(options.stepLimit, kMaxIterations) : kMaxIterations,
            .threads = lowered_.allThreads(),
            .sharedBytes = static_cast<unsigned>(lowered_.sharedBytes),
            .maps = {}};
  }

  CudaGpu gpu_;
  const CudaDriver& driver_;
  cpu::KernelArrays arrays_;
  DeviceKernel lowered_;
  CudaHandle module_ = nullptr, function_ = nullptr;
  int64_t blocksAtOnce_ = 1;
};

}  // namespace

Result<std::shared_ptr<const CudaKernel>> loadKernel(const CudaGpu& gpu, const KernelPackage& package,
                                                     eval::Poison poison, const GpuCode& code) {
  auto kernel = std::make_shared<LoadedKernel>(gpu, package, poison, code.ptx.lowered);
  if (Status ok = kernel->load(code); !ok) return fail(std::move(ok.error()));
  return kernel;
}

}  // namespace smalti::gpu
