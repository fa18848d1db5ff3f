#include "machine/pipeline/Overlap.h"

#include "machine/pipeline/Window.h"
#include "machine/runtime/Compiled.h"

namespace smalti::machine {

using Kind = PipelineEvent::Kind;

struct Overlap::Operand {
  Operand(const OperandPlan& p, int n) : plan(&p), number(n), map(p.map), geometry(*p.window, p.array.shape, false) {
    const bool whole = p.window->bounds == p.array.shape;
    // A block that is read again when it is visited again cannot be written back meanwhile.
    const bool single =
        whole || p.window->pipelineMode == PipelineMode::synchronous || p.window->revisitMode == RevisitMode::any;
    buffers = single ? 1 : 2;
  }
  /// The buffer after this one.
  int after(int s) const { return (s + 1) % buffers; }

  const OperandPlan* plan;
  int number;
  IndexMapRun map;
  BlockGeometry geometry;
  int buffers = 2;
  int slot = 0;                              ///< of the current block
  std::vector<int64_t> block, next;          ///< of this step and the one after
  bool changed = false, willChange = false;  ///< the block is not that of the step before; the next one's is not this
  int writingSlot = -1;                      ///< a write-back is under way from here
  std::vector<int64_t> writing;
};

Overlap::Overlap(const std::vector<OperandPlan>& operands, GridWalk walk, std::vector<Argument> arguments)
    : ahead_(std::move(walk)), arguments_(std::move(arguments)) {
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i].window) operands_.push_back(std::make_unique<Operand>(operands[i], static_cast<int>(i)));
}

Overlap::~Overlap() = default;

/// The blocks of the step that `ahead_` is at.
bool Overlap::evaluate(Core& unseen) {
  const auto at = ahead_.step();
  for (size_t d = 0; d < at.size(); ++d) std::get<int32_t>(arguments_[d]) = at[d];
  for (auto& o : operands_)
    if (auto changed = o->map.evaluate(at, arguments_, unseen, o->next); !changed) return false;
  return true;
}

bool Overlap::lookAhead(Core& unseen) {
  const bool first = step_++ < 0;
  if (first && !evaluate(unseen)) return false;
  for (auto& o : operands_) {
    o->changed = first || o->next != o->block;
    if (!first && o->changed) o->slot = o->after(o->slot);
    o->block = o->next;
  }
  ahead_.next();
  hasNext_ = !ahead_.done();
  if (hasNext_ && !evaluate(unseen)) return false;
  for (auto& o : operands_) o->willChange = hasNext_ && o->next != o->block;
  return true;
}

void Overlap::notify(const Actor& actor, Observer& observer, const Operand& o, Kind kind, int slot,
                     std::span<const int64_t> block) {
  BlockRegion region;
  o.geometry.place(block, region);
  int64_t elements = 1;
  for (int64_t n : region.size) elements *= n;
  observer.pipeline(actor, {.kind = kind,
                            .operand = o.number,
                            .slot = slot,
                            .step = step_,
                            .block = block,
                            .bytes = (elements * bit_width(o.plan->array.dtype) + 7) / 8});
}

void Overlap::beginStep(const Actor& actor, Observer& observer) {
  const auto isFetched = [](const Operand& o) {
    return !o.plan->isOutput || o.plan->window->revisitMode == RevisitMode::any;
  };
  const auto start = [&](const Operand& o, int slot, const std::vector<int64_t>& block) {
    notify(actor, observer, o, Kind::fetchStart, slot, block);
  };
  // The first step's blocks are fetched before it, all others one step ahead; with one buffer there is no ahead.
  for (auto& o : operands_)
    if (isFetched(*o) && o->changed && (step_ == 0 || o->buffers == 1)) start(*o, o->slot, o->block);
  for (auto& o : operands_)
    if (isFetched(*o) && o->willChange && o->buffers > 1) start(*o, o->after(o->slot), o->next);
  for (auto& o : operands_)
    if (isFetched(*o) && o->changed) notify(actor, observer, *o, Kind::fetchComplete, o->slot, o->block);
}

void Overlap::endStep(const Actor& actor, Observer& observer) {
  for (auto& o : operands_) {
    if (!o->plan->isOutput) continue;
    const bool leaves = o->willChange || !hasNext_;
    if (leaves) notify(actor, observer, *o, Kind::writeBackStart, o->slot, o->block);
    // The write-back that the previous step started; with one buffer the next block needs it immediately.
    if (o->writingSlot >= 0) {
      notify(actor, observer, *o, Kind::writeBackComplete, o->writingSlot, o->writing);
      o->writingSlot = -1;
    }
    if (!leaves) continue;
    if (o->buffers == 1 && hasNext_) {
      notify(actor, observer, *o, Kind::writeBackComplete, o->slot, o->block);
    } else {
      o->writingSlot = o->slot;
      o->writing = o->block;
    }
  }
}

void Overlap::finish(const Actor& actor, Observer& observer) {
  for (auto& o : operands_)
    if (o->writingSlot >= 0) notify(actor, observer, *o, Kind::writeBackComplete, o->writingSlot, o->writing);
}

}  // namespace smalti::machine
