#include "driver/target/cuda/DeviceCode.h"

#include <utility>

#include "driver/target/KeepLog.h"
#include "gpu/CheckedPackage.h"
#include "machine/runtime/Compiled.h"

namespace smalti::driver {

Result<machine::KernelResult> DeviceCode::run(std::span<const std::vector<Array>> operands,
                                              const ExecuteSettings& settings, std::span<Array>) const {
  if (!call_ || settings.needsMachine()) return runMachine(operands, settings);
  machine::KernelResult all;
  std::vector<Finding> outside;  // the first kind on any device
  // A further owner, so that no result takes the memory of an operand: the machine may have to run the call again.
  const std::vector<std::vector<Array>> kept(operands.begin(), operands.end());
  for (size_t device = 0; device < operands.size(); ++device) {
    if (Status ok = machine::checkOperands(*machine_, operands[device]); !ok) return fail(std::move(ok.error()));
    if (Status ok = machine::checkGridSteps(*machine_, operands[device], settings.stepLimit); !ok)
      return fail(std::move(ok.error()));
    auto result = call_(operands[device], settings);
    if (!result) return fail(std::move(result.error()));
    if (!isFinal(result->end)) {
      if (settings.stop && settings.stop->load(std::memory_order_relaxed)) return fail(machine::stopped(*machine_));
      return runMachine(operands, settings);
    }
    if (!cpu::removeShadows(result->results, shadowResults_)) return runMachine(operands, settings);
    if (outside.empty()) outside = readsOutside(result->end, *machine_);
    keepLog(result->log, device, settings, all);
    all.results.push_back(std::move(result->results));
  }
  if (!outside.empty()) all.findings = outside_.named(std::move(outside), *machine_, operands, contract_, settings);
  return all;
}

Result<machine::KernelResult> DeviceCode::runMachine(std::span<const std::vector<Array>> operands,
                                                     const ExecuteSettings& settings) const {
  return machine::run(*machine_, operands, machineOptionsInPlaceOfCode(contract_, settings), settings.observers);
}

bool DeviceCode::isFinal(cpu::KernelStatus end) const {
  return end == cpu::KernelStatus::done ||
         (gpu::isComplete(end) && contract_.readsOutsideAreWarnings && contract_.checks.empty());
}

}  // namespace smalti::driver
