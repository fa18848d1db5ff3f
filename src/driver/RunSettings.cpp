#include "driver/RunSettings.h"

#include "machine/observers/Registry.h"

namespace smalti::driver {

RunOptions runOptions(const Options& options, std::optional<machine::Poison> recordedPoison) {
  RunOptions run;
  run.target = options.target;
  run.threads = static_cast<int>(options.threads);
  run.cache = options.cache;
  run.cacheLimitBytes = options.cacheLimitMib << 20;
  machine::MachineOptions& m = run.machine;
  m.semantics = options.semantics == "hlo" ? machine::Semantics::hlo : machine::Semantics::tpu;
  m.numerics = options.numerics == "tpu" ? machine::Numerics::tpu : machine::Numerics::f32;
  m.poison = options.poison == "auto"  ? recordedPoison.value_or(machine::Poison::intMin)
             : options.poison == "max" ? machine::Poison::intMax
                                       : machine::Poison::intMin;
  m.staleEdges = !recordedPoison;
  m.dma = options.dma == "eager"     ? machine::DmaExecution::eager
          : options.dma == "on-wait" ? machine::DmaExecution::onWait
                                     : machine::DmaExecution::random;
  m.naivePipeline = options.naivePipeline;
  m.cores = static_cast<int>(options.cores);
  m.seed = static_cast<uint64_t>(options.seed);
  m.stepQuantum = options.stepQuantum;
  m.stepLimit = options.stepLimit;
  m.memoryLimitBytes = options.memoryLimitMib << 20;
  m.checkBounds = options.checkBounds;
  if (options.check)
    m.checks = machine::checksOf([&](std::string_view option) { return !options.checksOff.contains(option); });
  return run;
}

void checkEverything(machine::MachineOptions& m) {
  m.checkBounds = true;
  m.checks = machine::allChecks();
}

}  // namespace smalti::driver
