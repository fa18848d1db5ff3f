#include "cpu/NativeKernel.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/Lasting.h"
#include "base/memory/MemoryAccount.h"
#include "cpu/CompileSteps.h"
#include "cpu/MeasuredKernel.h"
#include "cpu/cache/CompileCache.h"
#include "cpu/cache/LoweredText.h"
#include "cpu/cache/PackageText.h"
#include "cpu/cache/ReportText.h"
#include "cpu/emit/Measured.h"
#include "cpu/jit/Jit.h"
#include "cpu/runtime/CallArrays.h"
#include "cpu/runtime/EntryPoints.h"
#include "cpu/runtime/GridWorkers.h"
#include "cpu/runtime/Pool.h"
#include "ir/KernelArguments.h"
#include "ir/Types.h"
#include "ir/facts/GridBounds.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"

namespace smalti::cpu {
namespace {

/// The most memory that the system grants to a process.
std::string memoryLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    return fmt::format("a limit of {} bytes for the process", limit.rlim_cur);
  return fmt::format("a machine with {} bytes", static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE));
}

/// One call that is measured, where `to` is not null.
class Measuring {
 public:
  Measuring(Measurement* to, const Measurement& plan) : to_(to) {
    if (!to) return;
    *to = plan;
    begin_ = Stamps::Clock::now();
  }
  ~Measuring() {
    if (!to_) return;
    to_->ns = std::chrono::duration<double, std::nano>(Stamps::Clock::now() - begin_).count();
    for (size_t i = 0; i < stamps_.size(); ++i) stamps_[i].addTo(*to_, static_cast<int>(i));
    to_->threads = static_cast<int>(stamps_.size());
  }
  Measuring(const Measuring&) = delete;
  Measuring& operator=(const Measuring&) = delete;

  void attach(GridWorker& worker, size_t thread, size_t threads) {
    if (!to_) return;
    if (thread == 0) stamps_.assign(threads, Stamps(to_->parts.size(), begin_));
    worker.context.stamps = &stamps_[thread];
  }
  static void detach(GridWorker& worker) { worker.context.stamps = nullptr; }

 private:
  Measurement* to_;
  std::vector<Stamps> stamps_;
  Stamps::Clock::time_point begin_;
};

/// Calls that touch fewer bytes run on the caller alone. At 25 GB/s (a core of the processor that
/// docs/performance.md names), 2 MiB take a core 84 us; another thread saves half
/// of that at most, and waking it takes 20 to 60 us (measured: runtime/Pool.cpp).
constexpr int64_t kWorthSharingBytes = 2 << 20;
/// The work of calls with a `cost_estimate`, in bytes that take as long at 25 GB/s: a core computes about 25 Gflop/s
/// outside of products, and 4 transcendental functions per ns.
constexpr double kBytesPerFlop = 1, kBytesPerTranscendental = 6;
/// The same limit for kernels with products: 128 KiB are three f32 matrices of 104 x 104, whose product takes a core 20
/// us at 110 Gflop/s. Chosen, not measured.
constexpr int64_t kWorthSharingProductBytes = 128 << 10;

class CompiledKernel : public MeasuredKernel {
 public:
  CompiledKernel(const KernelPackage& package, const NativeOptions& options, LoweredKernel lowered,
                 FallbackOps interpreted, NativeReport report, std::shared_ptr<const LoadedCode> code)
      : arrays_(package, options.poison, lowered.written),
        lowered_(std::move(lowered)),
        interpreted_(std::move(interpreted)),
        report_(std::move(report)),
        poison_(options.poison),
        work_(arrays_.bytes() + computing(package.config.costEstimate.value_or(CostEstimate()))),
        code_(std::move(code)),
        function_(code_->function<KernelFunction>(kKernelSymbol)) {}

  bool usable() const { return function_ != nullptr; }
  const NativeReport& report() const override { return report_; }

  using NativeKernel::call;
  Result<std::vector<Array>> call(std::span<const Array> operands, std::span<Array> into, const CallOptions& options,
                                  bool& fault, std::vector<std::string>* log) const override {
    return callOnce(operands, into, options, fault, log, nullptr);
  }
  Result<std::vector<Array>> measure(std::span<const Array> operands, const CallOptions& options, bool& fault,
                                     std::vector<std::string>* log, Measurement& measurement) const override {
    return callOnce(operands, {}, options, fault, log, &measurement);
  }
  void planToMeasure(Measurement plan) { measured_ = std::move(plan); }
  void nameLayout(std::string_view key) { layout_ = std::hash<std::string_view>()(key) | 1; }

  bool overwritesOperands(std::span<const Array> operands, std::span<const Array> into) const override {
    return arrays_.overwritesOperands(operands, into);
  }
  Result<std::vector<std::vector<Array>>> callOnDevices(std::span<const std::vector<Array>> operands,
                                                        const CallOptions& options, bool& fault,
                                                        std::vector<std::vector<std::string>>& logs,
                                                        const ProcessSpread* spread) const override {
    const auto devices = static_cast<int>(operands.size());
    MemoryAccount memory(options.memoryLimitBytes);
    std::optional<DeviceGroup> alone;
    std::optional<ProcessDeviceGroup> several;
    DeviceGroup& group = spread ? several.emplace(*spread, devices, options.stop)
                                : alone.emplace(devices, options.stop, devices <= defaultThreads());
    std::vector<CallArrays> arrays(operands.size());
    std::vector<std::unique_ptr<GridWorker>> workers;
    for (int d = 0; d < devices; ++d) {
      const auto at = static_cast<size_t>(d);
      if (Status ok = arrays_.prepare(operands[at], {}, memory, arrays[at]); !ok) return fail(std::move(ok.error()));
      auto worker = takeWorker(memory);
      if (!worker) return fail(std::move(worker.error()));
      begin(**worker, options);
      group.setMemory(d, regions(**worker, operands[at], arrays[at]));
      (*worker)->context.member = {&group, d, d + (spread ? spread->firstDevice : 0)};
      workers.push_back(std::move(*worker));
    }
    if (several) {
      const auto begun = several->begin(layout_);
      if (!begun) return fail(begun.error());
      if (fault = !*begun; fault) return std::vector<std::vector<Array>>();
    }
    std::atomic<bool> faulty{false};
    const bool ran = runOnThreads(devices, [&](int d) {
      const auto at = static_cast<size_t>(d);
      const bool failed = run(*workers[at], arrays[at].pointers, 0, 1);
      group.leave(failed);
      if (failed) faulty.store(true);
    });
    fault = !ran || faulty.load();
    if (several) {
      const auto ended = several->end(fault);
      if (!ended) return fail(ended.error());
      fault = *ended;
    }
    std::vector<std::vector<Array>> all;
    for (size_t d = 0; d < operands.size(); ++d) {
      logs.push_back(workers[d]->fallback.log());
      reportOutside(*workers[d], options);
      workers[d]->context.member = {};
      workers_.give(std::move(workers[d]));
      auto results = arrays_.outside(std::move(arrays[d].results), memory);
      if (!results) return fail(std::move(results.error()));
      all.push_back(std::move(*results));
    }
    return all;
  }

 private:
  Result<std::vector<Array>> callOnce(std::span<const Array> operands, std::span<Array> into,
                                      const CallOptions& options, bool& fault, std::vector<std::string>* log,
                                      Measurement* measurement) const {
    MemoryAccount memory(options.memoryLimitBytes);
    CallArrays arrays;
    if (Status ok = arrays_.prepare(operands, into, memory, arrays); !ok) return fail(std::move(ok.error()));
    std::vector<Array>& results = arrays.results;
    const llvm::SmallVector<void*, 16>& pointers = arrays.pointers;

    Measuring measuring(measurement, measured_);
    const int64_t points = gridPoints(boundsOfCall(lowered_.sharedBounds, operands));
    const int threads = options.threads > 0 ? options.threads : defaultThreads();
    if (points < 2 || threads < 2 ||
        (report_.matmuls.empty() ? work_ < kWorthSharingBytes : arrays_.bytes() < kWorthSharingProductBytes)) {
      auto worker = takeWorker(memory);
      if (!worker) return fail(std::move(worker.error()));
      begin(**worker, options);
      measuring.attach(**worker, 0, 1);
      fault = run(**worker, pointers, 0, points);
      measuring.detach(**worker);
      if (log) *log = (*worker)->fallback.log();
      reportOutside(**worker, options);
      workers_.give(std::move(*worker));
      return arrays_.outside(std::move(results), memory);
    }
    std::vector<std::unique_ptr<GridWorker>> own;
    for (int64_t i = 0; i < std::min<int64_t>(threads, points); ++i) {
      auto worker = takeWorker(memory);
      if (!worker) return fail(std::move(worker.error()));
      own.push_back(std::move(*worker));
    }
    std::vector<char> begun(own.size(), 0);  // by each thread itself
    std::atomic<bool> faulty{false};
    for (size_t i = 0; i < own.size(); ++i) measuring.attach(*own[i], i, own.size());
    parallelFor(points, static_cast<int>(own.size()), [&](int64_t first, int64_t last, int worker) {
      GridWorker& self = *own[static_cast<size_t>(worker)];
      if (!std::exchange(begun[static_cast<size_t>(worker)], 1)) begin(self, options);
      if (!faulty.load(std::memory_order_relaxed) && run(self, pointers, first, last))
        faulty.store(true, std::memory_order_relaxed);
    });
    for (auto& worker : own) measuring.detach(*worker);
    for (size_t i = 0; i < own.size(); ++i)
      if (begun[i]) reportOutside(*own[i], options);
    // Last in, first out: each thread gets its own worker again, which is still in its core's caches.
    for (size_t i = own.size(); i-- > 0;) workers_.give(std::move(own[i]));
    fault = faulty.load();
    return arrays_.outside(std::move(results), memory);
  }

  /// The memory of a device, for others to copy to: results first, which operands may be aliased to.
  std::vector<DeviceGroup::Region> regions(const GridWorker& worker, std::span<const Array> operands,
                                           const CallArrays& arrays) const {
    std::vector<DeviceGroup::Region> all{{worker.arena, lowered_.arenaBytes}};
    for (size_t i = 0; i < arrays.results.size(); ++i)
      all.push_back({static_cast<std::byte*>(arrays.pointers[operands.size() + i]), arrays.results[i].bytes()});
    for (size_t i = 0; i < operands.size(); ++i)
      all.push_back({static_cast<std::byte*>(arrays.pointers[i]), arrays_.operandBytes(i)});
    return all;
  }

  static int64_t computing(const CostEstimate& cost) {
    const double bytes = kBytesPerFlop * static_cast<double>(cost.flops) +
                         kBytesPerTranscendental * static_cast<double>(cost.transcendentals);
    return static_cast<int64_t>(std::clamp(bytes, 0.0, static_cast<double>(kWorthSharingBytes)));
  }
  static int defaultThreads() {
    static constinit Lasting<const int> cores;
    return cores.get(availableCores);
  }

  Result<std::unique_ptr<GridWorker>> takeWorker(MemoryAccount& memory) const {
    if (Status ok = memory.take(lowered_.arenaBytes, "the kernel's values"); !ok) return fail(std::move(ok.error()));
    auto worker = workers_.take();
    if (!worker) worker = std::make_unique<GridWorker>(lowered_.arenaBytes, interpreted_);
    if (!worker->arena)
      return fail({.code = "SM1009",
                   .message = "out of memory for the kernel's values",
                   .place = {},
                   .need = fmt::format("{} bytes for each thread", lowered_.arenaBytes),
                   .have = memoryLimit(),
                   .help = "lower --threads, use smaller blocks, or a machine with more memory"});
    return worker;
  }

  /// Makes scratch and windows undefined, as at the start of a call.
  void begin(GridWorker& worker, const CallOptions& options) const {
    for (const auto& u : lowered_.undefined)
      if (is_semaphore(u.type.dtype))
        std::memset(worker.arena + u.offset, 0, static_cast<size_t>(u.type.bytes()));
      else
        eval::poison(u.type.dtype, poison_, worker.arena + u.offset, u.type.elements());
    worker.fallback.restart();
    static constexpr std::atomic<bool> kNever{false};
    worker.context.limits = {.iterationsLeft = options.stepLimit > 0 ? options.stepLimit : INT64_MAX,
                             .stop = options.stop ? options.stop : &kNever};
    worker.context.threads = options.threads > 0 ? options.threads : defaultThreads();
    worker.context.copies.begin(options.copiesAtOnce ? 1 : worker.context.threads);
    worker.context.outside.begin(options.outsideReads != nullptr, poison_);
  }

  static void reportOutside(const GridWorker& worker, const CallOptions& options) {
    if (!options.outsideReads) return;
    const auto addNew = [](auto& all, auto&& seen) {
      for (auto& one : seen)
        if (std::ranges::find(all, one) == all.end()) all.push_back(std::move(one));
    };
    ReadsOutsideRefs seen = worker.context.outside.seen();
    addNew(options.outsideReads->loads, seen.loads);
    addNew(options.outsideReads->blocks, seen.blocks);
  }

  bool run(GridWorker& worker, const llvm::SmallVector<void*, 16>& pointers, int64_t first, int64_t last) const {
    if (worker.context.stamps) worker.context.stamps->begins();
    const int32_t status = function_(&worker.context, pointers.data(), worker.arena, first, last);
    worker.context.copies.end();
    if (worker.context.stamps) worker.context.stamps->ends();
    return status != 0 || !worker.fallback.hazards.none();
  }

  KernelArrays arrays_;
  LoweredKernel lowered_;
  FallbackOps interpreted_;
  NativeReport report_;
  Measurement measured_;  ///< of measured code: its parts, without times
  eval::Poison poison_;
  int64_t work_;  ///< bytes of memory touched, plus computation in equivalent bytes
  std::shared_ptr<const LoadedCode> code_;
  KernelFunction* function_;
  uint64_t layout_ = 0;  ///< lets processes check that their devices have the same code and memory
  mutable IdleWorkers workers_;
};

/// Null if the entry does not have this version's format: the kernel is compiled again.
std::shared_ptr<CompiledKernel> fromCache(const KernelPackage& package, const NativeOptions& options,
                                          const CachedKernel& kept) {
  const size_t line = kept.report.find('\n');
  if (line == kept.report.npos) return nullptr;
  auto lowered = readLowered(std::string_view(kept.report).substr(0, line));
  auto report = readReport(std::string_view(kept.report).substr(line + 1));
  if (!lowered || !report || lowered->written.size() != package.results.size()) return nullptr;
  report->sharedAxes = static_cast<int>(lowered->sharedBounds.size());
  auto code = loadObject(kept.object, runtimeSymbols(), &report->compile);
  if (!code) return nullptr;
  auto kernel = std::make_shared<CompiledKernel>(package, options, std::move(*lowered), FallbackOps(),
                                                 std::move(*report), std::move(*code));
  return kernel->usable() ? kernel : nullptr;
}

/// `measured`: null, or receives the parts of code that measures itself.
Result<Compiled<MeasuredKernel>> compile(const KernelPackage& package, const NativeOptions& options,
                                         MeasuredLowering* measured) {
  if (auto why = unsuitableProcessor(options.processor))
    return Compiled<MeasuredKernel>{nullptr, std::move(why->message)};
  // The block sizes depend on the number of cores (cpu/rewrite).
  const std::string key =
      options.cache || options.devices
          ? cacheKey({packageText(package), processorText(options.processor),
                      std::to_string(static_cast<int>(options.poison)), options.checkBlocks ? "inside" : "anywhere",
                      options.devices ? "devices" : "alone", std::to_string(availableCores())})
          : std::string();
  if (options.cache)
    if (auto kept = options.cache->find(key))
      if (auto kernel = fromCache(package, options, *kept)) {
        kernel->nameLayout(key);
        return Compiled<MeasuredKernel>{std::move(kernel), {}};
      }

  const auto begin = std::chrono::steady_clock::now();
  NativeReport report;
  FallbackOps interpreted;
  ModuleBuilder built(options.processor, package.name);
  auto lowered = planAndLower(package, options, *built.module, report, interpreted, measured);
  if (!lowered) return Compiled<MeasuredKernel>{nullptr, std::move(lowered.error())};
  report.compile.emitMs = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  auto object = generateObject(std::move(built), options.processor, &report.compile);
  if (!object) return fail(std::move(object.error()));
  auto code = loadObject(*object, runtimeSymbols(), &report.compile);
  if (!code) return fail(std::move(code.error()));
  // The cache cannot hold interpreted ops: kernels with such ops are lowered again in each process.
  if (options.cache && interpreted.all().empty())
    options.cache->put(key, *object, loweredText(*lowered) + "\n" + reportText(report));
  auto kernel = std::make_shared<CompiledKernel>(package, options, std::move(*lowered), std::move(interpreted),
                                                 std::move(report), std::move(*code));
  kernel->nameLayout(key);
  if (measured) kernel->planToMeasure(measured->plan);
  if (!kernel->usable())
    return fail({.code = "SM9001", .message = "the generated code has no kernel function", .place = {}});
  return Compiled<MeasuredKernel>{std::move(kernel), {}};
}

}  // namespace

Result<Compiled<NativeKernel>> compileNative(const KernelPackage& package, const NativeOptions& options) {
  auto made = compile(package, options, nullptr);
  if (!made) return fail(std::move(made.error()));
  return Compiled<NativeKernel>{std::move(made->kernel), std::move(made->why)};
}

Result<Compiled<MeasuredKernel>> compileMeasured(const KernelPackage& package, const NativeOptions& options) {
  NativeOptions uncached = options;
  uncached.cache = nullptr;
  MeasuredLowering measured;
  return compile(package, uncached, &measured);
}

}  // namespace smalti::cpu
