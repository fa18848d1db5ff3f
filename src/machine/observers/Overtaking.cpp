// SM4110: a prefetch that overtakes a write-back. Where an output is aliased to an input, the block of step s+1 is
// fetched while step s computes, before what step s wrote is back in the array: a TPU reads the old elements.
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "machine/observers/Checker.h"
#include "machine/observers/Region.h"

namespace smalti::machine {
namespace {

class OvertakingChecker final : public Checker {
 public:
  using Checker::Checker;

  void stepBegin(const Actor& actor) override { ++steps_[{actor.device, actor.core}]; }

  void access(const Actor& actor, const MemoryAccess& access) override {
    if (access.kind == MemoryAccess::Kind::windowWriteBack)
      remember(actor, access);
    else if (access.kind == MemoryAccess::Kind::windowFetch)
      lastFetch_ = regionOf(access);
  }

  /// Comes right after the access of the same fetch.
  void windowFetched(const Actor& actor, int operand, std::span<const int64_t> block) override {
    const OperandPlan& plan = context_.kernel->operands[operand];
    if (plan.isOutput || !lastFetch_ || plan.window->pipelineMode == PipelineMode::synchronous) return;
    const int64_t now = steps_[{actor.device, actor.core}];
    for (const WriteBack& w : recent_) {
      if (w.device != actor.device || w.core != actor.core || now - w.step > 1 || !overlap(w.region, *lastFetch_))
        continue;
      context_.findings->add(
          {.code = "SM4110",
           .message = fmt::format("the prefetch of {} overtakes the write-back of the output that it is aliased to",
                                  plan.name),
           .place = plan.mapPlace,
           .where = context_.where(actor),
           .need = "blocks of an aliased array to be read again only two steps after they were written",
           .have = fmt::format("block ({}) of {} is written back when the next step's block has been fetched already",
                               fmt::join(block, ", "), plan.name),
           .help = "give the input a single buffer (pl.Buffered(1)), or keep the value in scratch"});
      return;
    }
  }

 private:
  struct WriteBack {
    int device = 0, core = 0;
    int64_t step = 0;
    Region region;
  };

  void remember(const Actor& actor, const MemoryAccess& access) {
    if (context_.kernel->aliases.empty()) return;
    const int64_t now = steps_[{actor.device, actor.core}];
    std::erase_if(recent_, [&](const WriteBack& w) {
      return w.device == actor.device && w.core == actor.core && now - w.step > 1;
    });
    if (auto region = regionOf(access)) recent_.push_back({actor.device, actor.core, now, std::move(*region)});
  }

  std::map<std::pair<int, int>, int64_t> steps_;
  std::vector<WriteBack> recent_;
  std::optional<Region> lastFetch_;
};

}  // namespace

std::unique_ptr<Checker> makeOvertakingChecker(CheckContext context) {
  return std::make_unique<OvertakingChecker>(context);
}

}  // namespace smalti::machine
