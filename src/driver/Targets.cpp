#include <array>

#include "cpu/NativeKernel.h"
#include "cpu/cache/CompileCache.h"
#include "driver/Target.h"

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

/// Native code where there is any, the machine for everything else.
class CpuKernel : public TargetKernel {
 public:
  CpuKernel(std::shared_ptr<const machine::CompiledKernel> machine, cpu::NativeOutcome native)
      : machine_(std::move(machine)), native_(std::move(native)) {}

  Result<machine::KernelResult> run(std::span<const std::vector<Array>> operands,
                                    const RunOptions& options) const override {
    if (!native_.kernel || operands.size() != 1 || observes(options))
      return machine::run(*machine_, operands, options.machine, options.observers);
    if (Status ok = machine::checkOperands(*machine_, operands[0]); !ok) return fail(std::move(ok.error()));
    bool fault = false;
    std::vector<std::string> log;
    auto results = native_.kernel->call(operands[0], static_cast<int>(options.threads), fault, &log);
    if (!results) return fail(std::move(results.error()));
    // The machine runs what went wrong again, and says what it was.
    if (fault) return machine::run(*machine_, operands, options.machine, options.observers);
    machine::KernelResult result;
    result.results.push_back(std::move(*results));
    result.log = std::move(log);
    return result;
  }

 private:
  /// What only the machine does: its observers, its other contracts, the TPU's numerics.
  static bool observes(const RunOptions& o) {
    const machine::MachineOptions& m = o.machine;
    return !o.observers.empty() || m.checkInitialisation || m.checkRevisits || m.checkSemaphores || m.checkDma ||
           m.semantics != machine::Semantics::tpu || m.cores != 1 || m.naivePipeline ||
           m.numerics != machine::Numerics::f32;
  }

  std::shared_ptr<const machine::CompiledKernel> machine_;
  cpu::NativeOutcome native_;
};

Result<std::shared_ptr<const TargetKernel>> compileCpu(const KernelPackage& kernel, const RunOptions& options) {
  // The machine's compiler first: it says what is wrong with a kernel, and native code is only made of what it takes.
  auto compiled = machine::compileKernel(kernel, options.machine.numerics);
  if (!compiled) return fail(std::move(compiled.error()));
  const auto cache = cpu::openCache(options.cache, options.cacheLimitBytes);
  auto native = cpu::compileNative(kernel, {.poison = options.machine.poison, .cache = cache.get()});
  if (!native) return fail(std::move(native.error()));
  return std::make_shared<CpuKernel>(std::move(*compiled), std::move(*native));
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
