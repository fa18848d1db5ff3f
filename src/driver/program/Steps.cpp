#include "driver/program/Steps.h"

#include <algorithm>

#include "driver/program/ProgramRunner.h"
#include "ir/program/Uses.h"

namespace smalti::driver {
namespace {

bool isBranch(const Op& op) { return op.name == "if" || op.name == "case"; }

/// The others read their operands where they are.
bool mayTake(const Op& op) { return !isBranch(op) && op.name != "manual_computation"; }

}  // namespace

void Step::computeWith(std::shared_ptr<const StepKernel> by) {
  kernel = std::move(by);
  if (kernel) run = &ProgramRunner::runStepKernel;
}

void ProgramSteps::add(const Function& f, const OfOp& once, const OfOp& hasEffects) {
  add(f, f.arguments, f.ops, once, hasEffects);
}

void ProgramSteps::add(const Function& f, const std::vector<ValueId>& own, const std::vector<Op>& ops, const OfOp& once,
                       const OfOp& hasEffects) {
  if (ops.empty()) return;
  const std::vector<StepOps> units = groupElementwise(f, ops, once, hasEffects);
  std::unordered_map<ValueId, size_t> lastUse;  // by unit
  // Values that are never used die at the first step: kept, they would be second references to what others may
  // overwrite.
  for (const ValueId v : own) lastUse[v] = 0;
  for (size_t u = 0; u < units.size(); ++u) {
    const auto use = [&](ValueId v) {
      if (const auto found = lastUse.find(v); found != lastUse.end()) found->second = u;
    };
    std::ranges::for_each(units[u].operands, use);
    for (const Block& block : units[u].op->regions) std::ranges::for_each(valuesUsedBy(block.ops), use);
    for (const ValueId v : units[u].results()) lastUse[v] = u;  // until it is used: dies where it is made
  }
  std::vector<std::vector<ValueId>> dying(units.size());
  for (const auto& [value, unit] : lastUse) dying[unit].push_back(value);

  std::vector<Step>& steps = ofBlock_[&ops];
  for (size_t u = 0; u < units.size(); ++u) {
    const Op& op = *units[u].op;
    Step& step = steps.emplace_back();
    step.op = &op;
    step.group = units[u].group;
    step.operands = units[u].operands;
    step.permutations = units[u].permutations;
    step.results = units[u].results();
    step.dying = dying[u];
    std::unordered_set<ValueId> usedInside;
    for (const Block& block : op.regions) usedInside.merge(valuesUsedBy(block.ops));
    for (auto v = step.operands.begin(); v != step.operands.end(); ++v)
      step.takes.push_back(mayTake(op) && std::ranges::find(step.dying, *v) != step.dying.end() &&
                           std::find(v + 1, step.operands.end(), *v) == step.operands.end() &&
                           !usedInside.contains(*v));
    for (size_t i = 0; i < step.operands.size(); ++i)
      if (step.takes[i]) std::erase(step.dying, step.operands[i]);
    step.once = once(op);
    for (const ValueId v : step.results) step.types.push_back(f.values[v]);
    step.returns = op.name == "return";
    step.run = step.group ? &ProgramRunner::runGroup : ProgramRunner::runnerOf(op.name);
    if (step.run || step.returns) continue;
    step.exchange = plain::findCollective(op.name);
    if (!step.exchange) step.evaluate = plain::findEvaluator(op.name);
  }
  for (size_t u = 0; u < units.size(); ++u) {
    const Op& op = *units[u].op;
    for (const Block& block : op.regions) {
      std::vector<ValueId> ofBlock = block.arguments;
      // A branch is the last op that sees what dies here; the body of a loop is not.
      if (isBranch(op)) {
        const std::unordered_set<ValueId> used = valuesUsedBy(block.ops);
        std::ranges::copy_if(dying[u], std::back_inserter(ofBlock), [&](ValueId v) { return used.contains(v); });
      }
      add(f, ofBlock, block.ops, once, hasEffects);
    }
  }
}

}  // namespace smalti::driver
