#include "driver/target/sim/Sim.h"

#include "base/Lasting.h"
#include "driver/target/interpret/Interpret.h"
#include "driver/time/Taken.h"

namespace smalti::driver {

namespace {

Target makeSimTarget() {
  return {.name = "sim",
          .summary = "a simulated TPU: the machine's results with that chip's numerics, and a predicted time",
          .argument = "CHIP",
          .checks = [](const machine::ObserverRow&) { return true; },
          .numerics = Numerics::tpu,
          .aheadOfTime = false,
          .available = [](std::string_view) { return Status(); },
          .open = [](std::string_view argument) -> Result<KernelCompiler> {
            auto chip = tpu::findChip(argument);
            if (!chip) return fail(std::move(chip.error()));
            return [chip = std::move(*chip)](
                       const KernelPackage& kernel,
                       const CompileOptions& options) -> Result<std::shared_ptr<const TargetKernel>> {
              if (auto taken = takenBy(chip, kernel); !taken) return fail(std::move(taken.error()));
              return compileForMachine(kernel, options);
            };
          }};
}

}  // namespace

const Target& simTarget() {
  static constinit Lasting<const Target> target;
  return target.get(makeSimTarget);
}

Result<std::optional<tpu::Chip>> simulatedChip(std::string_view target) {
  if (findTarget(target) != &simTarget()) return std::optional<tpu::Chip>();
  auto chip = tpu::findChip(target.substr(target.find(':') + 1));
  if (!chip) return fail(std::move(chip.error()));
  return std::optional(std::move(*chip));
}

}  // namespace smalti::driver
