#include "driver/target/interpret/Interpret.h"

#include "base/Lasting.h"

namespace smalti::driver {
namespace {

class InterpretKernel : public TargetKernel {
 public:
  InterpretKernel(std::shared_ptr<const machine::CompiledKernel> kernel, const Contract& contract)
      : kernel_(std::move(kernel)), contract_(contract) {}
  Result<machine::KernelResult> run(std::span<const std::vector<Array>> operands, const ExecuteSettings& settings,
                                    std::span<Array>) const override {
    return machine::run(*kernel_, operands, machineOptions(contract_, settings), settings.observers);
  }

 private:
  std::shared_ptr<const machine::CompiledKernel> kernel_;
  Contract contract_;
};

}  // namespace

machine::MachineOptions machineOptions(const Contract& contract, const ExecuteSettings& settings,
                                       machine::DmaExecution dma) {
  machine::MachineOptions m;
  m.semantics = contract.semantics;
  m.numerics = contract.numerics;
  m.poison = contract.poison;
  m.staleEdges = contract.staleEdges;
  m.naivePipeline = contract.naivePipeline;
  m.cores = contract.cores;
  m.checkBounds = contract.checkBounds;
  m.readsOutsideAreWarnings = contract.readsOutsideAreWarnings;
  m.checks = contract.checks;
  m.dma = settings.dma.value_or(dma);
  m.seed = settings.seed;
  m.stepQuantum = settings.stepQuantum;
  m.stepLimit = settings.stepLimit;
  m.memoryLimitBytes = settings.memoryLimitBytes;
  m.stop = settings.stop;
  m.scheduler = settings.scheduler;
  m.dmaPolicy = settings.dmaPolicy;
  m.transport = settings.transport;
  m.mayPoll = settings.mayPoll;
  m.allDevices = settings.allDevices;
  m.firstDevice = settings.firstDevice;
  return m;
}

machine::MachineOptions machineOptionsInPlaceOfCode(const Contract& contract, const ExecuteSettings& settings) {
  return machineOptions(contract, settings,
                        contract.checks.empty() ? machine::DmaExecution::eager : machine::DmaExecution::random);
}

Result<std::shared_ptr<const TargetKernel>> compileForMachine(const KernelPackage& kernel,
                                                              const CompileOptions& options) {
  auto compiled = machine::compileKernel(kernel, options.contract.numerics);
  if (!compiled) return fail(std::move(compiled.error()));
  return std::make_shared<InterpretKernel>(std::move(*compiled), options.contract);
}

namespace {

Target makeInterpretTarget() {
  return {.name = "interpret",
          .summary = "the abstract machine without a clock: op by op, checks everything",
          .argument = {},
          .checks = [](const machine::ObserverRow&) { return true; },
          .aheadOfTime = false,
          .available = [](std::string_view) { return Status(); },
          .open = [](std::string_view) -> Result<KernelCompiler> { return compileForMachine; }};
}

}  // namespace

const Target& interpretTarget() {
  static constinit Lasting<const Target> target;
  return target.get(makeInterpretTarget);
}

}  // namespace smalti::driver
