#include "driver/program/Steps.h"

#include <algorithm>

#include "driver/program/ProgramRunner.h"
#include "ir/program/Uses.h"

namespace smalti::driver {
namespace {

using LastUses = std::unordered_map<ValueId, const Op*>;

/// `outer` is an op of the block, `op` it or an op inside its regions.
void use(const Op& outer, const Op& op, LastUses& lastUse) {
  for (const ValueId v : op.operands)
    if (const auto found = lastUse.find(v); found != lastUse.end()) found->second = &outer;
  for (const Block& block : op.regions)
    for (const Op& inner : block.ops) use(outer, inner, lastUse);
}

bool isBranch(const Op& op) { return op.name == "if" || op.name == "case"; }

/// The others read their operands where they are.
bool mayTake(const Op& op) { return !isBranch(op) && op.name != "manual_computation"; }

}  // namespace

void ProgramSteps::add(const Function& f, const IsComputedOnce& once) { add(f, f.arguments, f.ops, once); }

void ProgramSteps::add(const Function& f, const std::vector<ValueId>& own, const std::vector<Op>& ops,
                       const IsComputedOnce& once) {
  if (ops.empty()) return;
  LastUses lastUse;
  // Values that are never used die at the first op: kept, they would be second references to what others may overwrite.
  for (const ValueId v : own) lastUse[v] = &ops.front();
  for (const Op& op : ops) {
    use(op, op, lastUse);
    for (const ValueId v : op.results) lastUse[v] = &op;  // until it is used: dies where it is made
  }
  std::unordered_map<const Op*, std::vector<ValueId>> dying;
  for (const auto& [value, op] : lastUse) dying[op].push_back(value);

  std::vector<Step>& steps = ofBlock_[&ops];
  for (const Op& op : ops) {
    Step& step = steps.emplace_back();
    step.op = &op;
    step.dying = dying[&op];
    std::unordered_set<ValueId> usedInside;
    for (const Block& block : op.regions) usedInside.merge(valuesUsedBy(block.ops));
    for (auto v = op.operands.begin(); v != op.operands.end(); ++v)
      step.takes.push_back(mayTake(op) && std::ranges::find(step.dying, *v) != step.dying.end() &&
                           std::find(v + 1, op.operands.end(), *v) == op.operands.end() && !usedInside.contains(*v));
    for (size_t i = 0; i < op.operands.size(); ++i)
      if (step.takes[i]) std::erase(step.dying, op.operands[i]);
    step.once = once(op);
    for (const ValueId v : op.results) step.types.push_back(f.values[v]);
    step.returns = op.name == "return";
    step.run = ProgramRunner::runnerOf(op.name);
    if (step.run || step.returns) continue;
    step.exchange = plain::findCollective(op.name);
    if (!step.exchange) step.evaluate = plain::findEvaluator(op.name);
  }
  for (const Op& op : ops)
    for (const Block& block : op.regions) {
      std::vector<ValueId> ofBlock = block.arguments;
      // A branch is the last op that sees what dies here; the body of a loop is not.
      if (isBranch(op)) {
        const std::unordered_set<ValueId> used = valuesUsedBy(block.ops);
        std::ranges::copy_if(dying[&op], std::back_inserter(ofBlock), [&](ValueId v) { return used.contains(v); });
      }
      add(f, ofBlock, block.ops, once);
    }
}

}  // namespace smalti::driver
