#include "gpu/host/HostKernel.h"

#include <algorithm>
#include <cstring>

#include "base/memory/MemoryAccount.h"
#include "cpu/jit/Jit.h"
#include "cpu/runtime/CallArrays.h"
#include "gpu/host/Fibres.h"
#include "ir/facts/GridBounds.h"
#include "llvm/IR/Module.h"

namespace smalti::gpu {
namespace {

extern "C" {
int32_t smaltiGpuHostThread() { return hostThread(); }
int32_t smaltiGpuHostBlock() { return hostBlock(); }
int32_t smaltiGpuHostBlocks() { return hostBlocks(); }
void smaltiGpuHostBarrier(int32_t site) { hostBarrier(site); }
int32_t smaltiGpuHostOpaqueCopy(int32_t number) { return number; }
void smaltiGpuHostWarpBarrier() { hostWarpBarrier(); }
int32_t smaltiGpuHostShuffle(int32_t bits, int32_t laneMask) { return hostShuffle(bits, laneMask); }
int32_t smaltiGpuHostQuad(int32_t bits, int32_t lane) { return hostQuad(bits, lane); }
void smaltiGpuHostMma(void* sums, int32_t a0, int32_t a1, int32_t a2, int32_t a3, int32_t b0, int32_t b1,
                      int32_t dtype) {
  hostMma(sums, static_cast<DType>(dtype), {a0, a1, a2, a3}, {b0, b1});
}
void smaltiGpuHostLoadMatrices(int32_t* words, const void* row, int32_t transposed) {
  hostLoadMatrices(*reinterpret_cast<int32_t (*)[4]>(words), row, transposed);
}
void smaltiGpuHostCopy(void* to, const void* from, int32_t bytes) { hostCopy(to, from, bytes); }
void smaltiGpuHostCommit() { hostCommitCopies(); }
void smaltiGpuHostWait(int32_t groups) { hostWaitForCopies(groups); }
void smaltiGpuHostPublish() { hostPublish(); }
void smaltiGpuHostGroupBegin() { hostGroupBegin(); }
void smaltiGpuHostGroupCommit() { hostGroupCommit(); }
void smaltiGpuHostGroupWait(void*, int32_t groups) { hostGroupWait(groups); }
void smaltiGpuHostNamedBarrier(int32_t site, int32_t threads) { hostNamedBarrier(site, threads); }
void smaltiGpuHostMbarrierInit(void* mbarrier, int32_t arrivals) { hostMbarrierInit(mbarrier, arrivals); }
void smaltiGpuHostMbarrierExpect(void* mbarrier, int32_t bytes) { hostMbarrierExpect(mbarrier, bytes); }
void smaltiGpuHostMbarrierArrive(void* mbarrier) { hostMbarrierArrive(mbarrier); }
int32_t smaltiGpuHostMbarrierTest(void* mbarrier, int32_t parity) { return hostMbarrierTest(mbarrier, parity); }
void smaltiGpuHostCopyBox(void* to, const HostTensorMap* map, void* mbarrier, int32_t a, int32_t b, int32_t c,
                          int32_t d, int32_t e) {
  hostCopyBox(to, *map, mbarrier, {a, b, c, d, e});
}
void smaltiGpuHostGroupMma(void* sums, const std::byte* left, int32_t leftOffset, const std::byte* right,
                           int32_t rightOffset, int32_t adds, int32_t columns, int32_t dtype, int32_t lhsDepthInner,
                           int32_t rhsDepthInner, int32_t lhsStride, int32_t rhsStride) {
  hostGroupMma(sums, left + leftOffset, right + rightOffset, adds != 0,
               {.columns = columns,
                .dtype = static_cast<DType>(dtype),
                .lhsDepthInner = lhsDepthInner != 0,
                .rhsDepthInner = rhsDepthInner != 0,
                .lhsStride = lhsStride,
                .rhsStride = rhsStride});
}
void smaltiGpuHostLeftGroupMma(void* sums, int32_t a, int32_t b, int32_t c, int32_t d, const std::byte* right,
                               int32_t rightOffset, int32_t adds, int32_t columns, int32_t dtype, int32_t rhsDepthInner,
                               int32_t rhsStride) {
  hostGroupMma(sums, {a, b, c, d}, right + rightOffset, adds != 0,
               {.columns = columns,
                .dtype = static_cast<DType>(dtype),
                .rhsDepthInner = rhsDepthInner != 0,
                .lhsInRegisters = true,
                .rhsStride = rhsStride});
}
void* smaltiGpuHostShared() { return hostShared(); }
int32_t smaltiGpuHostStopped() { return hostStopped(); }
}

const cpu::RuntimeSymbol kRuntime[] = {{kThreadSymbol, reinterpret_cast<void*>(&smaltiGpuHostThread)},
                                       {kBlockSymbol, reinterpret_cast<void*>(&smaltiGpuHostBlock)},
                                       {kBlocksSymbol, reinterpret_cast<void*>(&smaltiGpuHostBlocks)},
                                       {kBarrierSymbol, reinterpret_cast<void*>(&smaltiGpuHostBarrier)},
                                       {kShuffleSymbol, reinterpret_cast<void*>(&smaltiGpuHostShuffle)},
                                       {kQuadSymbol, reinterpret_cast<void*>(&smaltiGpuHostQuad)},
                                       {kWarpBarrierSymbol, reinterpret_cast<void*>(&smaltiGpuHostWarpBarrier)},
                                       {kOpaqueCopySymbol, reinterpret_cast<void*>(&smaltiGpuHostOpaqueCopy)},
                                       {kSameSymbol, reinterpret_cast<void*>(&smaltiGpuHostOpaqueCopy)},
                                       {kMmaSymbol, reinterpret_cast<void*>(&smaltiGpuHostMma)},
                                       {kLoadMatricesSymbol, reinterpret_cast<void*>(&smaltiGpuHostLoadMatrices)},
                                       {kCopySymbol, reinterpret_cast<void*>(&smaltiGpuHostCopy)},
                                       {kCommitSymbol, reinterpret_cast<void*>(&smaltiGpuHostCommit)},
                                       {kWaitSymbol, reinterpret_cast<void*>(&smaltiGpuHostWait)},
                                       {kPublishSymbol, reinterpret_cast<void*>(&smaltiGpuHostPublish)},
                                       {kGroupBeginSymbol, reinterpret_cast<void*>(&smaltiGpuHostGroupBegin)},
                                       {kGroupCommitSymbol, reinterpret_cast<void*>(&smaltiGpuHostGroupCommit)},
                                       {kGroupWaitSymbol, reinterpret_cast<void*>(&smaltiGpuHostGroupWait)},
                                       {kNamedBarrierSymbol, reinterpret_cast<void*>(&smaltiGpuHostNamedBarrier)},
                                       {kMbarrierInitSymbol, reinterpret_cast<void*>(&smaltiGpuHostMbarrierInit)},
                                       {kMbarrierExpectSymbol, reinterpret_cast<void*>(&smaltiGpuHostMbarrierExpect)},
                                       {kMbarrierArriveSymbol, reinterpret_cast<void*>(&smaltiGpuHostMbarrierArrive)},
                                       {kMbarrierTestSymbol, reinterpret_cast<void*>(&smaltiGpuHostMbarrierTest)},
                                       {kCopyBoxSymbol, reinterpret_cast<void*>(&smaltiGpuHostCopyBox)},
                                       {kGroupMmaSymbol, reinterpret_cast<void*>(&smaltiGpuHostGroupMma)},
                                       {kLeftGroupMmaSymbol, reinterpret_cast<void*>(&smaltiGpuHostLeftGroupMma)},
                                       {kSharedSymbol, reinterpret_cast<void*>(&smaltiGpuHostShared)},
                                       {kStoppedSymbol, reinterpret_cast<void*>(&smaltiGpuHostStopped)}};

using KernelFunction = void(void* const* operands, void* workspace, int32_t* status, int64_t points, int64_t iterations,
                            const void* maps);

/// Blocks of a launch. Few, so that most blocks take several points; even fewer with some seeds.
int64_t mostBlocks(uint64_t seed) { return seed % 3 == 0 ? 4 : 2; }

class FibreKernel : public HostKernel {
 public:
  FibreKernel(const KernelPackage& package, const HostOptions& options, DeviceKernel lowered,
              std::shared_ptr<const cpu::LoadedCode> code, int64_t frameBytes)
      : arrays_(package, options.poison, lowered.written),
        lowered_(std::move(lowered)),
        code_(std::move(code)),
        function_(code_->function<KernelFunction>(kKernelSymbol)),
        frameBytes_(frameBytes) {}

  bool usable() const { return function_ != nullptr; }
  const DeviceKernel& lowered() const override { return lowered_; }

  Result<LaunchResult> call(std::span<const Array> operands, const HostCall& options) const override {
    return launchWithPrintBuffer(lowered_, [&](int64_t printBytes) { return launch(operands, options, printBytes); });
  }

 private:
  Result<LaunchResult> launch(std::span<const Array> operands, const HostCall& options, int64_t printBytes) const {
    MemoryAccount memory(options.memoryLimitBytes);
    cpu::CallArrays arrays;
    if (Status ok = arrays_.prepare(operands, {}, memory, arrays); !ok) return fail(std::move(ok.error()));
    const int64_t points = gridPoints(boundsOfCall(lowered_.sharedBounds, operands));
    const int64_t blocks = std::clamp<int64_t>(points, 1, mostBlocks(options.seed));
    const int64_t bytes = blocks * lowered_.workspaceBytes;
    if (Status ok = memory.take(bytes + printBytes, "the kernel's values"); !ok) return fail(std::move(ok.error()));
    auto workspace = Array::allocate({DType::u8, {std::max<int64_t>(bytes, 1)}});
    if (!workspace) return fail(std::move(workspace.error()));
    struct Watch {
      CallWatcher* watcher;
      ~Watch() {
        if (watcher) watcher->givenUp();
      }
    } watch{options.watcher};
    if (watch.watcher)
      if (Status ok = watch.watcher->before(watched(arrays, points, printBytes)); !ok)
        return fail(std::move(ok.error()));
    std::vector<int64_t> buffer(static_cast<size_t>((PrintOps::kHeaderBytes + printBytes) / 8));
    buffer[0] = printBytes;
    auto pointers = arrays.pointers;
    pointers.push_back(buffer.data());
    int32_t status = 0;
    // The threads of a block run one after the other: the limit is on their iterations together.
    const int64_t iterations =
        options.stepLimit > 0 ? std::max<int64_t>(options.stepLimit / lowered_.allThreads(), 1) : INT64_MAX;
    const std::vector<std::byte> maps = hostMaps(arrays.pointers);
    // A GPU may run blocks in any order.
    const bool isReversed = options.seed / 4 % 2 == 1;
    for (int64_t i = 0; i < blocks && isComplete(KernelStatus{status}); ++i) {
      const BlockLaunch launch{.threads = lowered_.allThreads(),
                               .block = static_cast<int32_t>(isReversed ? blocks - 1 - i : i),
                               .blocks = static_cast<int32_t>(blocks),
                               .sharedBytes = lowered_.sharedBytes,
                               .frameBytes = frameBytes_,
                               .seed = options.seed,
                               .stop = options.stop};
      if (auto trouble = runBlock(
              launch, [&] { function_(pointers.data(), workspace->data(), &status, points, iterations, maps.data()); }))
        return fail({.code = "SM9001",
                     .message = "the threads of a block disagree: " + *trouble,
                     .place = {},
                     .help = "this is a bug in Smalti, not in the kernel: please report it with the module"});
    }
    LaunchResult result{.end = static_cast<KernelStatus>(status), .results = {}};
    if (!isComplete(result.end)) return result;
    if (watch.watcher)
      if (Status ok = watch.watcher->after(watched(arrays, points, printBytes)); !ok)
        return fail(std::move(ok.error()));
    watch.watcher = nullptr;
    auto results = arrays_.outside(std::move(arrays.results), memory);
    if (!results) return fail(std::move(results.error()));
    result.results = std::move(*results);
    if (lowered_.prints) result.log = lowered_.prints->read(std::as_writable_bytes(std::span(buffer)));
    return result;
  }

  std::vector<std::byte> hostMaps(std::span<void* const> pointers) const {
    std::vector<std::byte> maps(lowered_.maps.size() * TensorMap::kBytes);
    for (size_t i = 0; i < lowered_.maps.size(); ++i) {
      const TensorMap& map = lowered_.maps[i];
      HostTensorMap made{.base = static_cast<const std::byte*>(pointers[map.array]),
                         .rank = static_cast<int32_t>(map.extents.size()),
                         .elementBytes = map.elementBytes};
      std::ranges::copy(map.extents, made.extents);
      std::ranges::copy(map.box, made.box);
      std::memcpy(maps.data() + i * TensorMap::kBytes, &made, sizeof(made));
    }
    return maps;
  }

  WatchedCall watched(const cpu::CallArrays& arrays, int64_t points, int64_t printBytes) const {
    WatchedCall call{.pointers = arrays.pointers, .printBytes = printBytes, .points = points};
    for (size_t i = 0; i < arrays_.operands(); ++i) {
      call.operandBytes.push_back(arrays_.operandBytes(i));
      call.aliases.push_back(arrays_.aliasOf(i));
    }
    for (size_t i = 0; i < arrays.results.size(); ++i) {
      call.resultBytes.push_back(arrays_.resultBytes(i));
      call.resultTypes.push_back(arrays_.insideResult(i));
    }
    return call;
  }

  cpu::KernelArrays arrays_;
  DeviceKernel lowered_;
  std::shared_ptr<const cpu::LoadedCode> code_;
  KernelFunction* function_;
  int64_t frameBytes_;
};

/// In instructions. From here on code is generated with the least effort: a ragged paged attention of 490,000 compiles
/// in 6 s instead of 36 (AMD EPYC, Zen 4) and takes as long to run, since fibres and barriers dominate.
constexpr unsigned kLargeKernel = 10000;

}  // namespace

Result<std::shared_ptr<const HostKernel>> compileForHost(const KernelPackage& package, const HostOptions& options) {
  const cpu::Processor& processor = cpu::hostProcessor();
  cpu::ModuleBuilder built(processor, package.name);
  auto lowered =
      lowerKernel(package, *built.module,
                  {.architecture = options.architecture, .poison = options.poison, .checkBlocks = options.checkBlocks});
  if (!lowered) return fail(std::move(lowered.error()));
  defineHostBodies(*built.module);
  cpu::CompileReport report;
  const auto effort = built.module->getInstructionCount() > kLargeKernel ? cpu::Effort::least : cpu::Effort::full;
  auto object = cpu::generateObject(std::move(built), processor, &report, effort);
  if (!object) return fail(std::move(object.error()));
  auto code = cpu::loadObject(*object, kRuntime);
  if (!code) return fail(std::move(code.error()));
  auto kernel =
      std::make_shared<FibreKernel>(package, options, std::move(*lowered), std::move(*code), report.frameBytes);
  if (!kernel->usable())
    return fail({.code = "SM9001", .message = "the generated code has no kernel function", .place = {}});
  return kernel;
}

}  // namespace smalti::gpu
