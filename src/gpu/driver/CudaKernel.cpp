#include "gpu/driver/CudaKernel.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/MemoryAccount.h"
#include "cpu/runtime/CallArrays.h"
#include "gpu/driver/TensorMaps.h"

namespace smalti::gpu {
namespace {

// CUdevice_attribute, CUfunction_attribute, CUjit_option of cuda.h.
constexpr int kProcessors = 16, kDynamicShared = 8, kErrorLog = 5, kErrorLogBytes = 6;
/// So many rounds of loops take longer than anybody waits; a kernel that does not end would keep the GPU.
constexpr int64_t kMostRounds = int64_t{1} << 40;

/// Memory of the device.
class DeviceMemory {
 public:
  explicit DeviceMemory(const CudaDriver& driver) : driver_(&driver) {}
  DeviceMemory(DeviceMemory&& other) noexcept : driver_(other.driver_), at_(std::exchange(other.at_, 0)) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() {
    if (at_) driver_->call().release(at_);
  }
  Status allocate(int64_t bytes) {
    return driver_->check(driver_->call().allocate(&at_, static_cast<size_t>(std::max<int64_t>(bytes, 1))),
                          fmt::format("allot {} bytes on the GPU", bytes));
  }
  CudaAddress at() const { return at_; }

 private:
  const CudaDriver* driver_;
  CudaAddress at_ = 0;
};

class LoadedKernel : public CudaKernel {
 public:
  LoadedKernel(const CudaGpu& gpu, const KernelPackage& package, eval::Poison poison, const DeviceKernel& lowered)
      : gpu_(gpu), driver_(gpu.driver()), arrays_(package, poison, lowered.written), lowered_(lowered) {}
  ~LoadedKernel() override {
    if (module_ && gpu_.use()) driver_.call().moduleUnload(module_);
  }

  Status load(const std::string& ptx) {
    if (Status ok = gpu_.use(); !ok) return ok;
    std::array<char, 2048> log{};
    std::array<int, 2> options{kErrorLog, kErrorLogBytes};
    std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size())};
    if (const int result = driver_.call().moduleLoad(&module_, ptx.c_str(), 2, options.data(), values.data());
        result != 0)
      return driver_.check(result, fmt::format("assemble the kernel: {}", log.data()));
    if (Status ok = driver_.check(driver_.call().moduleGetFunction(&function_, module_, kKernelSymbol),
                                  "find the kernel in its code");
        !ok)
      return ok;
    const auto shared = static_cast<int>(lowered_.sharedBytes);
    if (Status ok = driver_.check(driver_.call().functionSetAttribute(function_, kDynamicShared, shared),
                                  fmt::format("give a block {} bytes of shared memory", shared));
        !ok)
      return ok;
    int perProcessor = 0;
    driver_.call().occupancy(&perProcessor, function_, lowered_.allThreads(), static_cast<size_t>(shared));
    blocksAtOnce_ = std::max<int64_t>(1, int64_t{perProcessor} * gpu_.attribute(kProcessors));
    return {};
  }

  Result<LaunchResult> call(std::span<const Array> operands, const CudaCall& options) const override {
    return launchWithPrintBuffer(lowered_, [&](int64_t printBytes) { return callOnce(operands, options, printBytes); });
  }

 private:
  Result<LaunchResult> callOnce(std::span<const Array> operands, const CudaCall& options, int64_t printBytes) const {
    if (Status ok = gpu_.use(); !ok) return fail(std::move(ok.error()));
    MemoryAccount memory(options.memoryLimitBytes);
    cpu::CallArrays arrays;
    if (Status ok = arrays_.prepare(operands, {}, memory, arrays); !ok) return fail(std::move(ok.error()));
    // Each array of the call has a copy on the device; an operand that a result is one array with has the result's.
    std::vector<DeviceMemory> copies;
    std::vector<CudaAddress> addresses(arrays.pointers.size());
    for (size_t i = arrays.pointers.size(); i-- > 0;) {
      const bool isResult = i >= operands.size();
      if (const int alias = isResult ? -1 : arrays_.aliasOf(i); alias >= 0) {
        addresses[i] = addresses[operands.size() + static_cast<size_t>(alias)];
        continue;
      }
      const int64_t bytes = isResult ? arrays_.resultBytes(i - operands.size()) : arrays_.operandBytes(i);
      auto copy = toDevice(arrays.pointers[i], bytes);
      if (!copy) return fail(std::move(copy.error()));
      addresses[i] = copy->at();
      copies.push_back(std::move(*copy));
    }
    const int64_t points = gridPoints(lowered_.sharedBounds, operands);
    int64_t blocks = std::clamp<int64_t>(points, 1, blocksAtOnce_);
    std::vector<int64_t> buffer(static_cast<size_t>((PrintOps::kHeaderBytes + printBytes) / 8));
    buffer[0] = printBytes;
    auto onDevice = toDevice(buffer.data(), static_cast<int64_t>(buffer.size() * sizeof(int64_t)));
    if (!onDevice) return fail(std::move(onDevice.error()));
    addresses.push_back(onDevice->at());
    auto pointers = toDevice(addresses.data(), static_cast<int64_t>(addresses.size() * sizeof(CudaAddress)));
    if (!pointers) return fail(std::move(pointers.error()));
    int32_t status = 0;
    auto ended = toDevice(&status, sizeof(status));
    if (!ended) return fail(std::move(ended.error()));
    DeviceMemory workspace(driver_);
    Status allocated = workspace.allocate(blocks * lowered_.workspaceBytes);
    for (; !allocated && blocks > 1; allocated = workspace.allocate(blocks * lowered_.workspaceBytes)) blocks /= 2;
    if (!allocated) return fail(std::move(allocated.error()));
    if (Status ok = memory.take(blocks * lowered_.workspaceBytes, "the kernel's values"); !ok)
      return fail(std::move(ok.error()));
    auto maps = encodeTensorMaps(driver_, lowered_.maps, addresses);
    if (!maps) return fail(std::move(maps.error()));
    if (Status ok = launch(pointers->at(), workspace.at(), ended->at(), points, blocks, maps->data(), options); !ok)
      return fail(std::move(ok.error()));
    if (Status ok =
            driver_.check(driver_.call().copyOut(&status, ended->at(), sizeof(status)), "read how a kernel ended");
        !ok)
      return fail(std::move(ok.error()));
    LaunchResult result{.end = static_cast<KernelEnd>(status), .results = {}};
    if (result.end == KernelEnd::stepLimit && options.stepLimit <= 0) return fail(endless());
    if (result.end != KernelEnd::done) return result;
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

  /// Without a step limit, the machine would not end either.
  static Diagnostic endless() {
    return {.code = "SM7206",
            .message = "the kernel did not end on the GPU",
            .place = {},
            .need = fmt::format("at most {} iterations of loops in a block of threads", kMostRounds),
            .help = "look for a loop whose condition never becomes false; --step-limit ends it earlier"};
  }

  Result<DeviceMemory> toDevice(const void* from, int64_t bytes) const {
    DeviceMemory made(driver_);
    if (Status ok = made.allocate(bytes); !ok) return fail(std::move(ok.error()));
    if (Status ok = driver_.check(bytes ? driver_.call().copyIn(made.at(), from, static_cast<size_t>(bytes)) : 0,
                                  "copy to the GPU");
        !ok)
      return fail(std::move(ok.error()));
    return made;
  }

  Status launch(CudaAddress pointers, CudaAddress workspace, CudaAddress ended, int64_t points, int64_t blocks,
                EncodedTensorMap* maps, const CudaCall& options) const {
    int64_t rounds = options.stepLimit > 0 ? std::min(options.stepLimit, kMostRounds) : kMostRounds;
    std::array<void*, 6> arguments{&pointers, &workspace, &ended, &points, &rounds, maps};
    const auto threads = static_cast<unsigned>(lowered_.allThreads());
    if (Status ok = driver_.check(
            driver_.call().launch(function_, static_cast<unsigned>(blocks), 1, 1, threads, 1, 1,
                                  static_cast<unsigned>(lowered_.sharedBytes), nullptr, arguments.data(), nullptr),
            "launch the kernel");
        !ok)
      return ok;
    return driver_.check(driver_.call().contextSynchronize(), "run the kernel to its end");
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
                                                     eval::Poison poison, const PtxKernel& code) {
  auto kernel = std::make_shared<LoadedKernel>(gpu, package, poison, code.lowered);
  if (Status ok = kernel->load(code.ptx); !ok) return fail(std::move(ok.error()));
  return kernel;
}

}  // namespace smalti::gpu
