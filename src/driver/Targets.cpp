#include <algorithm>
#include <array>

#include "cpu/CheckedKernel.h"
#include "cpu/NativeKernel.h"
#include "cpu/cache/CompileCache.h"
#include "driver/Target.h"
#include "machine/observers/Registry.h"
#include "machine/runtime/Compiled.h"

namespace smalti::driver {
namespace {

class InterpretKernel : public TargetKernel {
 public:
  explicit InterpretKernel(std::shared_ptr<const machine::CompiledKernel> kernel) : kernel_(std::move(kernel)) {}
  Result<machine::KernelResult> run(std::span<const std::vector<Array>> operands,
                                    const RunOptions& options) const override {
    return machine::run(*kernel_, operands, options.machine, options.observers);
  }

 private:
  std::shared_ptr<const machine::CompiledKernel> kernel_;
};

Result<std::shared_ptr<const TargetKernel>> compileInterpret(const KernelPackage& kernel, const RunOptions& options) {
  auto compiled = machine::compileKernel(kernel, options.machine.numerics);
  if (!compiled) return fail(std::move(compiled.error()));
  return std::make_shared<InterpretKernel>(std::move(*compiled));
}

bool checksAnything(const machine::MachineOptions& m) { return !m.checks.empty(); }

/// Some observer that the options ask for exists on the machine alone.
bool checksOnMachine(const machine::MachineOptions& m) {
  return std::ranges::any_of(m.checks,
                             [](const machine::ObserverRow* row) { return row->onCpu == machine::OnCpu::machine; });
}

/// Native code where there is any, the machine for everything else.
class CpuKernel : public TargetKernel {
 public:
  CpuKernel(std::shared_ptr<const machine::CompiledKernel> machine, std::shared_ptr<const cpu::NativeKernel> native,
            std::shared_ptr<const cpu::CheckedKernel> checked)
      : machine_(std::move(machine)), native_(std::move(native)), checked_(std::move(checked)) {}

  Result<machine::KernelResult> run(std::span<const std::vector<Array>> operands,
                                    const RunOptions& options) const override {
    const bool checks = checksAnything(options.machine);
    const bool usesChecked = checked_ && (checks || !native_);
    if ((!usesChecked && (checks || !native_)) || operands.size() != 1 || needsMachine(options))
      return machine::run(*machine_, operands, options.machine, options.observers);
    if (Status ok = machine::checkOperands(*machine_, operands[0]); !ok) return fail(std::move(ok.error()));
    // Each of its steps would be one of the machine's too.
    if (Status ok = machine::checkGridSteps(*machine_, operands[0], options.machine.stepLimit); !ok)
      return fail(std::move(ok.error()));
    return usesChecked ? runChecked(operands, options) : runNative(operands, options);
  }

 private:
  Result<machine::KernelResult> runNative(std::span<const std::vector<Array>> operands,
                                          const RunOptions& options) const {
    bool fault = false;
    std::vector<std::string> log;
    auto results = native_->call(operands[0], static_cast<int>(options.threads), fault, &log);
    if (!results) return fail(std::move(results.error()));
    // The machine runs what went wrong again, and says what it was.
    if (fault) return machine::run(*machine_, operands, options.machine, options.observers);
    machine::KernelResult result;
    result.results.push_back(std::move(*results));
    result.log = std::move(log);
    return result;
  }

  /// Native code says that nothing is wrong, or leaves it to the machine to say what is.
  Result<machine::KernelResult> runChecked(std::span<const std::vector<Array>> operands,
                                           const RunOptions& options) const {
    machine::KernelResult result;
    auto results = checked_->call(operands[0], options.threads, &result.log);
    if (!results) return fail(std::move(results.error()));
    if (!*results) return machine::run(*machine_, operands, options.machine, options.observers);
    result.results.push_back(std::move(**results));
    return result;
  }

  /// What only the machine does: other observers, parts of the caller's own, its other contracts, the TPU's numerics.
  static bool needsMachine(const RunOptions& o) {
    const machine::MachineOptions& m = o.machine;
    return !o.observers.empty() || checksOnMachine(m) || m.hasOwnParts() || m.semantics != machine::Semantics::tpu ||
           m.cores != 1 || m.naivePipeline || m.numerics != machine::Numerics::f32;
  }

  std::shared_ptr<const machine::CompiledKernel> machine_;
  std::shared_ptr<const cpu::NativeKernel> native_;    ///< null: there is none
  std::shared_ptr<const cpu::CheckedKernel> checked_;  ///< null: there is none, or none is asked for
};

Result<std::shared_ptr<const TargetKernel>> compileCpu(const KernelPackage& kernel, const RunOptions& options) {
  // The machine's compiler first: it says what is wrong with a kernel, and native code is only made of what it takes.
  auto compiled = machine::compileKernel(kernel, options.machine.numerics);
  if (!compiled) return fail(std::move(compiled.error()));
  const auto cache = cpu::openCache(options.cache, options.cacheLimitBytes);
  const cpu::NativeOptions nativeOptions{.poison = options.machine.poison, .cache = cache.get()};
  if (checksOnMachine(options.machine)) return std::make_shared<CpuKernel>(std::move(*compiled), nullptr, nullptr);
  if (checksAnything(options.machine)) {
    auto checked = cpu::compileChecked(kernel, nativeOptions);
    if (!checked) return fail(std::move(checked.error()));
    return std::make_shared<CpuKernel>(std::move(*compiled), nullptr, std::move(checked->kernel));
  }
  auto native = cpu::compileNative(kernel, nativeOptions);
  if (!native) return fail(std::move(native.error()));
  return std::make_shared<CpuKernel>(std::move(*compiled), std::move(native->kernel), nullptr);
}

}  // namespace

std::span<const Target> targets() {
  static const std::array kTargets{
      Target{"interpret", "the abstract machine without a clock: op by op, checks everything", compileInterpret},
      Target{"cpu", "native code for this processor", compileCpu},
  };
  return kTargets;
}

const Target* findTarget(std::string_view name) {
  for (const Target& t : targets())
    if (t.name == name) return &t;
  return nullptr;
}

}  // namespace smalti::driver
