#include "machine/pipeline/WindowPipeline.h"

#include <fmt/format.h>

#include "base/memory/KernelStorage.h"
#include "machine/pipeline/BlockOutside.h"
#include "machine/runtime/Compiled.h"

namespace smalti::machine {

struct WindowPipeline::Slot {
  Slot(const OperandPlan& operandPlan, int number, Buffer& arrayBuffer, Buffer& windowBuffer, const Environment& e)
      : plan(&operandPlan),
        operand(number),
        array(Ref::whole(arrayBuffer)),
        map(operandPlan.map),
        geometry(*operandPlan.window, arrayBuffer.type.shape, e.contract == PipelineContract::hlo),
        copy(arrayBuffer, windowBuffer,
             storageDiffers(operandPlan.array.dtype, operandPlan.type.dtype) ? operandPlan.type.dtype
                                                                             : operandPlan.array.dtype,
             e.tracks, e.poison) {}

  const OperandPlan* plan;
  int operand;
  Ref array;
  IndexMapRun map;
  BlockGeometry geometry;
  WindowCopy copy;
  std::vector<int64_t> block, nextBlock;
  BlockRegion region;
  bool resident = false;  ///< `block` is in the window
  bool changed = false;   ///< the step shows another block than the one before
};

WindowPipeline::WindowPipeline(Environment environment) : environment_(std::move(environment)) {}
WindowPipeline::~WindowPipeline() = default;

void WindowPipeline::add(const OperandPlan& plan, int operand, Buffer& array, Buffer& window) {
  slots_.push_back(std::make_unique<Slot>(plan, operand, array, window, environment_));
}

Status WindowPipeline::advance(Slot& slot, Core& core, std::span<const int32_t> step,
                               std::span<const Argument> arguments) {
  auto evaluated = slot.map.evaluate(step, arguments, core, slot.nextBlock);
  if (!evaluated) {
    evaluated.error().where.insert(evaluated.error().where.begin(), fmt::format("index map of {}", slot.plan->name));
    return fail(std::move(evaluated.error()));
  }
  if (slot.map.undefined() && core.observer())
    core.observer()->undefinedUse(core.actor(), UndefinedUse::address, slot.plan->mapPlace,
                                  fmt::format("the block index of {}", slot.plan->name));
  slot.changed = !slot.resident || (*evaluated && slot.nextBlock != slot.block);
  return {};
}

void WindowPipeline::fetch(Slot& slot, Core& core) {
  if (slot.region.empty || (!slot.region.full && !environment_.staleEdges)) slot.copy.makeUndefined();
  slot.copy.fetch(slot.region);
  ++environment_.statistics->windowFetches;
  if (Observer* o = core.observer()) {
    o->access(core.actor(), {.kind = MemoryAccess::Kind::windowFetch,
                             .ref = &slot.array,
                             .starts = slot.region.arrayStart,
                             .sizes = slot.region.size});
    o->windowFetched(core.actor(), slot.operand, slot.block);
  }
}

void WindowPipeline::writeBack(Slot& slot, Core& core) {
  slot.copy.writeBack(slot.region);
  ++environment_.statistics->windowWriteBacks;
  if (Observer* o = core.observer()) {
    o->access(core.actor(), {.kind = MemoryAccess::Kind::windowWriteBack,
                             .ref = &slot.array,
                             .starts = slot.region.arrayStart,
                             .sizes = slot.region.size});
    o->windowWrittenBack(core.actor(), slot.operand, slot.block);
  }
}

/// The window takes its new block: an input is copied in; an output starts undefined (S-C4), except that
/// RevisitMode.ANY reads the block again (S-C7) and interpret=True preloads it (S-C5).
void WindowPipeline::visit(Slot& slot, Core& core) {
  if (slot.changed && core.observer()) core.observer()->windowVisited(core.actor(), slot.operand, slot.block);
  if (!slot.plan->isOutput || environment_.contract == PipelineContract::hlo) {
    fetch(slot, core);
  } else if (!slot.changed) {
    fetch(slot, core);
  } else {
    slot.copy.makeUndefined();
    if (slot.plan->window->revisitMode == RevisitMode::any) fetch(slot, core);
  }
}

Status WindowPipeline::beginStep(Core& core, std::span<const int32_t> step, std::span<const Argument> arguments) {
  for (auto& slot : slots_)
    if (auto ok = advance(*slot, core, step, arguments); !ok) return ok;
  const bool everyStep = environment_.contract != PipelineContract::tpu;
  // The end of a run of equal indices comes before the next fetch: what was written back can be read again.
  for (auto& slot : slots_)
    if (slot->plan->isOutput && slot->changed && slot->resident && !everyStep) writeBack(*slot, core);
  for (auto& slot : slots_) {
    if (!slot->changed && !everyStep) continue;
    if (slot->changed) {
      slot->block = slot->nextBlock;
      if (environment_.outside && slot->geometry.outside(slot->block))
        environment_.outside(core.actor(), blockOutside(*slot->plan, slot->geometry, slot->block),
                             slot->plan->isOutput);
      slot->geometry.place(slot->block, slot->region);
    }
    visit(*slot, core);
    slot->resident = true;
  }
  return {};
}

void WindowPipeline::endStep(Core& core) {
  if (environment_.contract == PipelineContract::tpu) return;
  for (auto& slot : slots_)
    if (slot->plan->isOutput || environment_.contract == PipelineContract::hlo) writeBack(*slot, core);
}

void WindowPipeline::finish(Core& core) {
  if (environment_.contract != PipelineContract::tpu) return;
  for (auto& slot : slots_)
    if (slot->plan->isOutput && slot->resident) writeBack(*slot, core);
}

int64_t WindowPipeline::instructions() const {
  int64_t n = 0;
  for (const auto& slot : slots_) n += slot->map.instructions();
  return n;
}

}  // namespace smalti::machine
