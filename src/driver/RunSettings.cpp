#include "driver/RunSettings.h"

#include "driver/processes/SimulatedNetwork.h"
#include "driver/target/Target.h"
#include "machine/observers/Registry.h"
#include "tpu/chip/Chip.h"

namespace smalti::driver {

CompileOptions compileOptions(const Options& options, std::optional<machine::Poison> recordedPoison) {
  CompileOptions compile{.target = options.target, .contract = {}, .cache = options.cache};
  compile.processes = options.mpi;
  compile.network = options.net;
  compile.floatsInF64 = options.numerics == "f64";
  compile.cacheLimitBytes = options.cacheLimitMib << 20;
  Contract& c = compile.contract;
  c.semantics = options.semantics == "hlo" ? machine::Semantics::hlo : machine::Semantics::tpu;
  const Target* target = findTarget(options.target);
  c.numerics = options.numerics == "tpu"              ? Numerics::tpu
               : options.numerics == "f32" || !target ? Numerics::f32
                                                      : target->numerics;
  c.poison = options.poison == "auto"   ? recordedPoison.value_or(machine::Poison::intMin)
             : options.poison == "max"  ? machine::Poison::intMax
             : options.poison == "zero" ? machine::Poison::zero
                                        : machine::Poison::intMin;
  c.staleEdges = !recordedPoison;
  c.naivePipeline = options.naivePipeline;
  c.cores = static_cast<int>(options.cores);
  c.checkBounds = options.checkBounds;
  c.readsOutsideAreWarnings = !options.check;
  if (options.check)
    c.checks = machine::checksOf([&](std::string_view option) { return !options.checksOff.contains(option); });
  return compile;
}

ExecuteSettings executeSettings(const Options& options) {
  ExecuteSettings execute;
  execute.threads = static_cast<int>(options.threads);
  if (options.dma == "eager") execute.dma = machine::DmaExecution::eager;
  if (options.dma == "on-wait") execute.dma = machine::DmaExecution::onWait;
  if (options.dma == "random") execute.dma = machine::DmaExecution::random;
  execute.seed = static_cast<uint64_t>(options.seed);
  execute.stepQuantum = options.stepQuantum;
  execute.stepLimit = options.stepLimit;
  execute.memoryLimitBytes = options.memoryLimitMib << 20;
  execute.timeLimitSeconds = static_cast<double>(options.timeoutSeconds);
  return execute;
}

RunSettings runSettings(const Options& options, std::optional<machine::Poison> recordedPoison) {
  return {compileOptions(options, recordedPoison), executeSettings(options)};
}

Status validate(const Options& options) {
  if (auto network = parseNetwork(options.net); !network) return fail(std::move(network.error()));
  if (options.chip.empty()) return {};
  if (auto chips = tpu::findChips(options.chip); !chips) return fail(std::move(chips.error()));
  return {};
}

void checkEverything(Contract& c) {
  c.checkBounds = true;
  c.readsOutsideAreWarnings = false;
  c.checks = machine::allChecks();
}

}  // namespace smalti::driver
