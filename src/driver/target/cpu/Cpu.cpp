#include "driver/target/cpu/Cpu.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Lasting.h"
#include "cpu/CheckedKernel.h"
#include "cpu/CompileSteps.h"
#include "cpu/NativeKernel.h"
#include "cpu/cache/CompileCache.h"
#include "driver/target/Code.h"
#include "driver/target/KeepLog.h"
#include "driver/target/ReadsOutside.h"
#include "driver/target/TpuNumerics.h"
#include "machine/ProcessTransport.h"
#include "machine/observers/Registry.h"
#include "machine/runtime/Compiled.h"

namespace smalti::driver {
namespace {

/// Contracts that only the machine supports: anything but a TPU's semantics on one core.
bool needsMachine(const Contract& c) {
  return c.semantics != machine::Semantics::tpu || c.cores != 1 || c.naivePipeline;
}

/// Native code if available, the machine for everything else.
class CpuKernel : public TargetKernel {
 public:
  CpuKernel(std::shared_ptr<const machine::CompiledKernel> machine, const Contract& contract)
      : machine_(std::move(machine)), contract_(contract) {}

  std::shared_ptr<const cpu::NativeKernel> native;    ///< null: there is none
  std::shared_ptr<const cpu::CheckedKernel> checked;  ///< null: there is none, or no checks are requested
  std::string notNative;                              ///< why both are null
  bool namesDevices = false;                          ///< several devices run it together (cpu::namesDevices)

  std::optional<CodeReport> code() const override {
    if (!native && !checked) return CodeReport{.notNative = notNative};
    const cpu::NativeReport& report = checked ? checked->kernel().report() : native->report();
    CodeReport code{.objectBytes = report.compile.objectBytes, .fromCache = report.compile.fromCache};
    if (!report.interpreted.empty())
      code.notCacheable = fmt::format("ops that are not native yet: {}", fmt::join(report.interpreted, ", "));
    return code;
  }

  Result<machine::KernelResult> run(std::span<const std::vector<Array>> operands, const ExecuteSettings& settings,
                                    std::span<Array> into) const override {
    const auto* processes = settings.transport.target<machine::ProcessTransports>();
    const bool hasOwnParts = !settings.observers.empty() || settings.scheduler || settings.dmaPolicy;
    std::optional<cpu::ProcessSpread> spread;
    if (processes && !hasOwnParts) spread = {processes->messages, settings.allDevices, settings.firstDevice};
    const bool together = namesDevices && (operands.size() > 1 || spread);
    if (spread) {
      // A process without native code announces it: then no process uses native code.
      if (!native) {
        cpu::ProcessDeviceGroup group(*spread, 0, settings.stop);
        if (auto agreed = group.begin(0); !agreed) return fail(std::move(agreed.error()));
        return runMachine(operands, settings);
      }
    } else if ((!native && !checked) || (together && !native) || settings.needsMachine()) {
      return runMachine(operands, settings);
    }
    for (const std::vector<Array>& ofDevice : operands) {
      if (Status ok = machine::checkOperands(*machine_, ofDevice); !ok) return fail(std::move(ok.error()));
      // Each grid step counts at least one instruction of the machine.
      if (Status ok = machine::checkGridSteps(*machine_, ofDevice, settings.stepLimit); !ok)
        return fail(std::move(ok.error()));
    }
    machine::KernelResult all;
    all.results.reserve(operands.size());
    // A further owner, so that no result takes the memory of an operand: the machine runs a call with findings again.
    std::vector<std::vector<Array>> kept;
    if (checked) kept.assign(operands.begin(), operands.end());
    const bool inPlace = !checked && overwritesOperands(operands, into);
    cpu::ReadsOutsideRefs outsideReads;
    cpu::CallOptions options = callOptions(settings);
    if (native && contract_.readsOutsideAreWarnings) options.outsideReads = &outsideReads;
    if (together) {
      bool fault = false;
      std::vector<std::vector<std::string>> logs;
      auto results = native->callOnDevices(operands, options, fault, logs, spread ? &*spread : nullptr);
      if (!results) return fail(std::move(results.error()));
      if (fault && spread && settings.stop && settings.stop->load(std::memory_order_relaxed))
        giveUpNextRun(*spread->messages);  // which the other processes begin
      if (fault) return explain(operands, settings, inPlace);
      all.results = std::move(*results);
      for (size_t device = 0; device < logs.size(); ++device) keepLog(logs[device], device, settings, all);
      all.findings = outside(outsideReads, operands, settings, !inPlace && !spread);
      return all;
    }
    for (size_t device = 0; device < operands.size(); ++device) {
      std::vector<std::string> log;
      auto results = callNative(operands[device], options, device == 0 ? into : std::span<Array>(), log);
      if (!results) return fail(std::move(results.error()));
      if (!*results) return explain(operands, settings, inPlace);
      all.results.push_back(std::move(**results));
      keepLog(log, device, settings, all);
    }
    all.findings = outside(outsideReads, operands, settings, !inPlace);
    return all;
  }

 private:
  Result<machine::KernelResult> runMachine(std::span<const std::vector<Array>> operands,
                                           const ExecuteSettings& settings) const {
    return machine::run(*machine_, operands, machineOptionsInPlaceOfCode(contract_, settings), settings.observers);
  }

  static cpu::CallOptions callOptions(const ExecuteSettings& settings) {
    return {.threads = settings.threads,
            .stepLimit = settings.stepLimit,
            .memoryLimitBytes = settings.memoryLimitBytes,
            .stop = settings.stop,
            .copiesAtOnce = settings.dma == machine::DmaExecution::eager};
  }

  /// nullopt: the call ended with a fault. Checked code leaves `into` alone.
  Result<std::optional<std::vector<Array>>> callNative(const std::vector<Array>& operands,
                                                       const cpu::CallOptions& options, std::span<Array> into,
                                                       std::vector<std::string>& log) const {
    if (checked) return checked->call(operands, options, &log);
    bool fault = false;
    auto results = native->call(operands, into, options, fault, &log);
    if (!results) return fail(std::move(results.error()));
    if (fault) return std::nullopt;
    return std::move(*results);
  }

  /// Whether native code would write results of a device over its operands.
  bool overwritesOperands(std::span<const std::vector<Array>> operands, std::span<const Array> into) const {
    for (size_t device = 0; device < operands.size(); ++device)
      if (native->overwritesOperands(operands[device], device == 0 ? into : std::span<const Array>())) return true;
    return false;
  }

  /// Of a call in which native code has gone on; the machine repeats it only if the operands are still intact.
  std::vector<Finding> outside(const cpu::ReadsOutsideRefs& seen, std::span<const std::vector<Array>> operands,
                               const ExecuteSettings& settings, bool intact) const {
    if (seen.empty() || !intact) return readsOutside(seen, *machine_);
    return outside_.named(readsOutside(seen, *machine_), *machine_, operands, contract_, settings);
  }

  /// The machine runs a call again that ended with a fault, to report the error. Its results are invalid if native code
  /// has already overwritten inputs.
  Result<machine::KernelResult> explain(std::span<const std::vector<Array>> operands, const ExecuteSettings& settings,
                                        bool inPlace) const {
    if (settings.stop && settings.stop->load(std::memory_order_relaxed)) return fail(machine::stopped(*machine_));
    auto result = runMachine(operands, settings);
    if (!result || !inPlace) return result;
    return fail({.code = "SM9016",
                 .message = "native code stopped with a fault after it had overwritten an input in place",
                 .place = {},
                 .need = "unmodified inputs",
                 .have = "an output that shares the memory of an input",
                 .help = "use the target 'interpret' for this kernel"});
  }

  std::shared_ptr<const machine::CompiledKernel> machine_;
  Contract contract_;
  mutable ReadsOutside outside_;
};

}  // namespace

Result<std::shared_ptr<const TargetKernel>> compileForProcessor(const KernelPackage& package,
                                                                const CompileOptions& options,
                                                                const cpu::Processor& processor) {
  // The machine's compiler first: it reports errors in a kernel, and native code only accepts what it accepts.
  auto compiled = machine::compileKernel(package, options.contract.numerics);
  if (!compiled) return fail(std::move(compiled.error()));
  auto kernel = std::make_shared<CpuKernel>(std::move(*compiled), options.contract);
  kernel->namesDevices = cpu::namesDevices(package);
  if (needsMachine(options.contract)) {
    kernel->notNative = "only the machine has these semantics or cores";
    return kernel;
  }
  const auto native = withNumerics(package, options.contract.numerics);
  if (!native) {
    kernel->notNative = kOnlyMachineRounds;
    return kernel;
  }
  const auto cache = cpu::openCache(options.cache, options.cacheLimitBytes);
  const cpu::NativeOptions nativeOptions{.processor = processor,
                                         .poison = options.contract.poison,
                                         .checkBlocks = options.contract.checkBounds,
                                         .devices = options.contract.checks.empty() && kernel->namesDevices,
                                         .cache = cache.get()};
  if (!options.contract.checks.empty()) {
    auto checked = cpu::compileChecked(*native, nativeOptions);
    if (!checked) return fail(std::move(checked.error()));
    kernel->checked = std::move(checked->kernel);
    kernel->notNative = checked->why.text();
  } else {
    auto code = cpu::compileNative(*native, nativeOptions);
    if (!code) return fail(std::move(code.error()));
    kernel->native = std::move(code->kernel);
    kernel->notNative = code->why.text();
  }
  return kernel;
}

namespace {

Target makeCpuTarget() {
  return {.name = "cpu",
          .summary = "native code for this processor",
          .argument = {},
          .checks = [](const machine::ObserverRow& row) { return row.onCpu == machine::OnCpu::native; },
          .aheadOfTime = true,
          .stepsAsKernels = true,
          // If the processor lacks required instructions, the machine runs everything.
          .available = [](std::string_view) { return Status(); },
          .open = [](std::string_view) -> Result<KernelCompiler> {
            return [](const KernelPackage& package, const CompileOptions& options) {
              return compileForProcessor(package, options, cpu::hostProcessor());
            };
          },
          .stages = {"plan", "llvm", "optimised", "assembly"},
          .inspect = inspectCpuCode};
}

}  // namespace

const Target& cpuTarget() {
  static constinit Lasting<const Target> target;
  return target.get(makeCpuTarget);
}

}  // namespace smalti::driver
