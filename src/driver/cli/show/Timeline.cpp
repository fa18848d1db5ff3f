#include "driver/cli/show/Timeline.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace smalti::cli {
namespace {

std::string blockText(std::span<const int64_t> block) { return fmt::format("({})", fmt::join(block, ", ")); }

}  // namespace

TimelineStep* Timeline::stepOf(const machine::Actor& actor, bool begin) {
  if (actor.device != 0) return nullptr;
  if (kernels_.back().ended) kernels_.emplace_back();
  Kernel& kernel = kernels_.back();
  if (actor.gridStep.empty() && !kernel.steps.empty() && !kernel.steps.front().gridStep.empty())
    return &kernel.afterTheEnd;
  // A core's last step, if it is this one: fetches may come before its begin, write-backs after its end.
  for (size_t i = kernel.steps.size(); i-- > 0;) {
    TimelineStep& step = kernel.steps[i];
    if (step.core != actor.core) continue;
    if (std::ranges::equal(step.gridStep, actor.gridStep)) return &step;
    break;
  }
  if (kernel.steps.size() >= maxSteps_) {
    kernel.moreSteps += begin;
    return nullptr;
  }
  kernel.steps.push_back({actor.core, {actor.gridStep.begin(), actor.gridStep.end()}, {}, {}});
  return &kernel.steps.back();
}

void Timeline::stepBegin(const machine::Actor& actor) { stepOf(actor, true); }

void Timeline::windowFetched(const machine::Actor& actor, int operand, std::span<const int64_t> block) {
  if (TimelineStep* step = stepOf(actor, false)) step->fetched[operand] = blockText(block);
}

void Timeline::windowWrittenBack(const machine::Actor& actor, int operand, std::span<const int64_t> block) {
  if (TimelineStep* step = stepOf(actor, false)) step->writtenBack[operand] = blockText(block);
}

void Timeline::kernelEnd(const machine::Actor& actor) {
  if (actor.device == 0) kernels_.back().ended = true;
}

}  // namespace smalti::cli
