#include "machine/runtime/CoreExecution.h"

#include <algorithm>
#include <utility>

#include "machine/pipeline/BlockOutside.h"

namespace smalti::machine {
namespace {

PipelineContract contractOf(const MachineOptions& options) {
  if (options.semantics == Semantics::hlo) return PipelineContract::hlo;
  return options.naivePipeline ? PipelineContract::naive : PipelineContract::tpu;
}

/// Blocks outside their array go to the findings; interpret=True clamps them.
std::function<void(const Actor&, Diagnostic, bool)> outsideReporter(Runtime& runtime) {
  if (!runtime.options.checkBounds || runtime.options.semantics == Semantics::hlo) return {};
  return [&runtime](const Actor& actor, Diagnostic d, bool isOutput) {
    d.where = runtime.context(actor);
    const bool goesOn = !isOutput && runtime.options.readsOutsideAreWarnings;
    if (goesOn)
      runtime.findings.add(undefinedBlock(std::move(d)), Severity::warning);
    else
      runtime.findings.add(std::move(d));
  };
}

}  // namespace

CoreExecution::CoreExecution(Runtime& runtime, int device, int core, std::vector<int64_t> bounds, GridWalk walk,
                             int number)
    : runtime_(runtime),
      bounds_(std::move(bounds)),
      walk_(std::move(walk)),
      actor_{device, core, {}},
      number_(number),
      pipeline_({contractOf(runtime.options), runtime.tracks, runtime.options.poison, runtime.options.staleEdges,
                 &runtime.statistics, outsideReporter(runtime)}),
      execution_(runtime.kernel.program) {
  buildArguments();
  buildPipeline();
  if (runtime.observer && runtime.observer->interest().pipeline &&
      contractOf(runtime.options) == PipelineContract::tpu) {
    const size_t prefix = bounds_.size() + runtime.kernel.prefetch.size();
    overlap_.emplace(runtime.kernel.operands, walk_,
                     std::vector<Argument>(arguments_.begin(), arguments_.begin() + static_cast<ptrdiff_t>(prefix)));
  }
}

/// Grid indices, then refs of scalar prefetch, inputs, outputs, scratch (S-F1).
void CoreExecution::buildArguments() {
  const DeviceMemory& device = runtime_.devices[actor_.device];
  const CoreMemory& core = device.cores[actor_.core];
  arguments_.assign(bounds_.size(), int32_t{0});
  for (const auto& p : core.prefetch) arguments_.emplace_back(Ref::whole(*p));
  for (size_t i = 0; i < runtime_.kernel.operands.size(); ++i)
    arguments_.emplace_back(Ref::whole(core.windows[i] ? *core.windows[i] : *device.arrays[i]));
  for (const auto& s : core.scratch) arguments_.emplace_back(Ref::whole(*s));
}

void CoreExecution::buildPipeline() {
  const DeviceMemory& device = runtime_.devices[actor_.device];
  const CoreMemory& core = device.cores[actor_.core];
  for (size_t i = 0; i < runtime_.kernel.operands.size(); ++i)
    if (core.windows[i])
      pipeline_.add(runtime_.kernel.operands[i], static_cast<int>(i), *device.arrays[i], *core.windows[i]);
}

Result<RunState> CoreExecution::advance(int64_t maxInstructions) {
  auto state = runSteps(maxInstructions);
  if (!state) {
    std::vector<std::string>& where = state.error().where;
    const auto context = runtime_.context(actor_);
    where.insert(where.begin(), context.begin(), context.end());
    return state;
  }
  return state_ = *state;
}

Result<RunState> CoreExecution::runSteps(int64_t left) {
  while (true) {
    if (!inStep_) {
      if (walk_.done()) {
        actor_.gridStep = {};
        pipeline_.finish(*this);
        if (overlap_) overlap_->finish(actor_, *observer());
        if (observer()) observer()->kernelEnd(actor_);
        return RunState::finished;
      }
      if (left <= 0) return RunState::preempted;
      const int64_t before = pipeline_.instructions();
      if (auto ok = beginStep(); !ok) return fail(std::move(ok.error()));
      const int64_t used = pipeline_.instructions() - before;
      left -= used;
      work_ += used;
    }
    if (left <= 0) return RunState::preempted;
    const int64_t before = execution_.instructions();
    auto state = execution_.run(*this, left);
    if (!state) return state;
    const int64_t used = std::max<int64_t>(1, execution_.instructions() - before);
    left -= used;
    work_ += used;
    if (*state != RunState::finished) return state;
    endStep();
  }
}

Status CoreExecution::beginStep() {
  actor_.gridStep = walk_.step();
  for (size_t d = 0; d < bounds_.size(); ++d) std::get<int32_t>(arguments_[d]) = walk_.step()[d];
  ++runtime_.statistics.gridSteps;
  runtime_.dma.onActivity();
  if (observer()) observer()->stepBegin(actor_);
  if (overlap_) reportOverlap();
  const size_t prefix = bounds_.size() + runtime_.kernel.prefetch.size();
  if (auto ok = pipeline_.beginStep(*this, walk_.step(), {arguments_.data(), prefix}); !ok) return ok;
  execution_.start(arguments_);
  inStep_ = true;
  return {};
}

void CoreExecution::reportOverlap() {
  unseen_ = true;
  const bool looked = overlap_->lookAhead(*this);
  unseen_ = false;
  if (looked)
    overlap_->beginStep(actor_, *observer());
  else
    overlap_.reset();
}

void CoreExecution::endStep() {
  pipeline_.endStep(*this);
  if (overlap_) overlap_->endStep(actor_, *observer());
  if (observer()) observer()->stepEnd(actor_);
  walk_.next();
  inStep_ = false;
}

}  // namespace smalti::machine
