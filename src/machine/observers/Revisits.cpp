// SM4105: an output block that a core visits again after another one (S-C6): what was accumulated is lost. Blocks that
// several cores visit are races.
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/BlockGeometry.h"
#include "machine/observers/Checker.h"

namespace smalti::machine {
namespace {

using Step = std::vector<int32_t>;

class RevisitChecker final : public Checker {
 public:
  using Checker::Checker;

  void stepEnd(const Actor& actor) override {
    lastStep_[{actor.device, actor.core}].assign(actor.gridStep.begin(), actor.gridStep.end());
  }

  void access(const Actor& actor, const MemoryAccess& access) override {
    if (access.kind != MemoryAccess::Kind::store || !access.place) return;
    const auto& buffer = static_cast<const Allocation&>(*access.ref->buffer);
    if (buffer.kind == Allocation::Kind::window) lastStore_[{actor.device, actor.core, buffer.index}] = access.place;
  }

  void windowVisited(const Actor& actor, int operand, std::span<const int64_t> block) override {
    const OperandPlan& plan = context_.kernel->operands[operand];
    if (!plan.isOutput || isAliased(plan.index) || plan.window->revisitMode == RevisitMode::any) return;
    auto& current = current_[{actor.device, actor.core, operand}];
    if (current) current->last = lastStep_[{actor.device, actor.core}];
    key_.assign(block.begin(), block.end());
    auto [it, isNew] = visits_[{actor.device, actor.core, operand}].try_emplace(key_);
    if (!isNew) report(actor, operand, block, it->second);
    it->second.first.assign(actor.gridStep.begin(), actor.gridStep.end());
    it->second.last = it->second.first;
    current = &it->second;
  }

 private:
  struct Visit {
    Step first, last;
  };

  bool isAliased(int output) const {
    for (const Alias& alias : context_.kernel->aliases)
      if (alias.output == output) return true;
    return false;
  }

  void report(const Actor& actor, int operand, std::span<const int64_t> block, const Visit& before) {
    const OperandPlan& plan = context_.kernel->operands[operand];
    const BlockGeometry geometry(*plan.window, plan.array.shape);
    std::vector<std::string> ranges;
    for (size_t d = 0; d < block.size(); ++d) {
      const int64_t start = geometry.start(block, d);
      ranges.push_back(fmt::format("{}:{}", start, start + plan.window->bounds[d]));
    }
    context_.findings->add(
        {.code = "SM4105",
         .message = fmt::format("{} is revisited after other blocks", plan.name),
         .place = placeOf(actor, operand),
         .where = context_.where(actor),
         .need = "all visits to one output block in consecutive grid steps",
         .have = fmt::format("Revisited block [{}] of {} in iteration ({}). The block was previously visited in "
                             "iterations ({}) through ({}).",
                             fmt::join(ranges, ", "), plan.name, fmt::join(actor.gridStep, ", "),
                             fmt::join(before.first, ", "), fmt::join(before.last, ", ")),
         .help = "make the axis that is accumulated over the last grid axis"});
  }

  /// The last store to the window before the block was first visited again, whose value is lost; without a store, the
  /// index map.
  const SourcePlace& placeOf(const Actor& actor, int operand) {
    auto [place, isNew] = reported_.try_emplace(operand);
    const auto stored = lastStore_.find({actor.device, actor.core, operand});
    if (isNew)
      place->second = stored == lastStore_.end() ? context_.kernel->operands[operand].mapPlace : *stored->second;
    return place->second;
  }

  std::map<std::tuple<int, int, int>, const SourcePlace*> lastStore_;  ///< by device, core, operand
  std::map<int, SourcePlace> reported_;           ///< by operand: one finding, however many stores there are
  std::map<std::pair<int, int>, Step> lastStep_;  ///< by device, core
  std::map<std::tuple<int, int, int>, std::map<std::vector<int64_t>, Visit>> visits_;  ///< as above
  std::map<std::tuple<int, int, int>, Visit*> current_;                                ///< as above
  std::vector<int64_t> key_;
};

}  // namespace

std::unique_ptr<Checker> makeRevisitChecker(CheckContext context) { return std::make_unique<RevisitChecker>(context); }

}  // namespace smalti::machine
