#include "driver/program/Executables.h"

#include "base/process/FloatMode.h"
#include "driver/Module.h"
#include "driver/program/BindOnGpu.h"
#include "driver/program/ProgramRunner.h"
#include "driver/program/TimeLimit.h"
#include "ir/Lifetime.h"

namespace smalti::driver {
namespace {

static_assert(static_cast<int>(DmaTiming::eager) == static_cast<int>(machine::DmaExecution::eager) &&
              static_cast<int>(DmaTiming::on_wait) == static_cast<int>(machine::DmaExecution::onWait) &&
              static_cast<int>(DmaTiming::random) == static_cast<int>(machine::DmaExecution::random));
template <class To, class From>
std::optional<To> sameOf(std::optional<From> timing) {
  return timing ? std::optional(static_cast<To>(*timing)) : std::nullopt;
}

ExecuteOptions toPublic(const ExecuteSettings& s) {
  return {.threads = s.threads,
          .seed = s.seed,
          .dma = sameOf<DmaTiming>(s.dma),
          .step_quantum = s.stepQuantum,
          .step_limit = s.stepLimit,
          .memory_limit_bytes = s.memoryLimitBytes,
          .time_limit_seconds = s.timeLimitSeconds,
          .stop = s.stop};
}

ExecuteSettings fromPublic(const ExecuteOptions& o) {
  return {.dma = sameOf<machine::DmaExecution>(o.dma),
          .seed = o.seed,
          .stepQuantum = o.step_quantum,
          .stepLimit = o.step_limit,
          .memoryLimitBytes = o.memory_limit_bytes,
          .timeLimitSeconds = o.time_limit_seconds,
          .stop = o.stop,
          .scheduler = {},
          .dmaPolicy = {},
          .threads = o.threads,
          .observers = {}};
}

/// Converts an outcome to the public API's types.
template <class Outcome>
Result<RunReport> report(Outcome& outcome, std::vector<Array>& results) {
  Result<RunReport> report;
  report->results = std::move(results);
  report->findings = std::move(outcome.findings);
  report->log = std::move(outcome.log);
  const machine::RunStatistics& s = outcome.statistics;
  report->statistics = {s.gridSteps,    s.instructions, s.windowFetches,   s.windowWriteBacks,
                        s.dmaTransfers, s.dmaBytes,     s.peakWindowBytes, s.valueBytes};
  return report;
}

class ProgramExecutable : public Executable::State {
 public:
  ProgramExecutable(std::shared_ptr<const CompiledProgram> compiled, const Program& program, ExecuteSettings settings)
      : compiled_(std::move(compiled)), sole_(compiled_->sole()), settings_(std::move(settings)) {
    arguments = argumentTypes(program);
    results = resultTypes(program);
    options = toPublic(settings_);
    if (compiled_->soleKernel < 0) return;
    for (const Alias& alias : program.kernels[static_cast<size_t>(compiled_->soleKernel)].aliases)
      aliases.emplace_back(alias.operand, alias.output);
  }

  Result<RunReport> execute(std::vector<Array> inputs, std::span<Array> into,
                            const ExecuteOptions& chosen) const override {
    return run(std::move(inputs), into, fromPublic(chosen));
  }
  Result<RunReport> execute(std::vector<Array> inputs) const override { return run(std::move(inputs), {}, settings_); }
  Result<std::shared_ptr<const DeviceProgram::State>> bind(std::span<const DeviceArray> inputs,
                                                           const BindOptions& chosen) const override {
    return bindOnGpu(compiled_, inputs, chosen, settings_.stepLimit);
  }
  Result<int> gpu() const override {
    const auto gpu = gpuOf(*compiled_);
    if (!gpu) return fail(gpu.error());
    return gpu->number();
  }

 private:
  Result<RunReport> run(std::vector<Array>&& inputs, std::span<Array> into, const ExecuteSettings& settings) const {
    const FloatModeScope ieee;
    return withinTimeLimit(settings,
                           [&](const ExecuteSettings& limited) { return runWithin(std::move(inputs), into, limited); });
  }
  Result<RunReport> runWithin(std::vector<Array>&& inputs, std::span<Array> into,
                              const ExecuteSettings& settings) const {
    if (sole_) {
      auto ran = sole_->run({&inputs, 1}, settings, into);
      if (ran) return report(*ran, ran->results[0]);
      return fail(ofSoleKernel(*compiled_, std::move(ran.error())));
    }
    if (compiled_->direct && inputs.size() == 1 && inputs[0].type() == compiled_->direct->argument()) {
      auto result = compiled_->direct->run(inputs[0]);
      if (!result) return fail(std::move(result.error()));
      RunReport report;
      report.results.push_back(std::move(*result));
      return report;
    }
    auto outcome = driver::run(*compiled_, std::move(inputs), settings, into);
    if (!outcome) return fail(std::move(outcome.error()));
    return report(*outcome, outcome->results);
  }

  std::shared_ptr<const CompiledProgram> compiled_;
  const TargetKernel* sole_;  ///< the only op of main is a call of it; null: main does more
  ExecuteSettings settings_;
};

}  // namespace

std::shared_ptr<const CompiledProgram> Executables::find(const CompileOptions& options) const {
  const std::lock_guard lock(mutex_);
  for (const Compiled& c : compiled_)
    if (c.options == options) return c.program;
  return nullptr;
}

size_t Executables::numCompiled() const {
  const std::lock_guard lock(mutex_);
  return compiled_.size();
}

Result<std::shared_ptr<const CompiledProgram>> Executables::compile(const CompileOptions& options) {
  const UnforkedWork work;
  if (Status alive = checkAlive(); !alive) return fail(std::move(alive.error()));
  const FloatModeScope ieee;  // constants are folded
  if (auto found = find(options)) return found;
  const auto lockOfModules = alone();
  if (auto found = find(options)) return found;  // by the previous holder of the lock
  auto compiled = compileProgram(program_, options);
  if (!compiled) return compiled;
  const std::lock_guard lock(mutex_);
  compiled_.push_back({options, *compiled});
  return compiled;
}

Result<std::shared_ptr<const Executable::State>> Executables::get(const RunSettings& settings) {
  auto compiled = compile(settings.compile);
  if (!compiled) return fail(std::move(compiled.error()));
  return std::make_shared<ProgramExecutable>(std::move(*compiled), *program_, settings.execute);
}

}  // namespace smalti::driver
