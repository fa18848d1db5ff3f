#include "driver/program/Steps.h"

#include <algorithm>

#include "driver/program/ProgramRunner.h"

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

}  // namespace

void ProgramSteps::add(const Function& f, const IsComputedOnce& once) { add(f, f.arguments, f.ops, once); }

void ProgramSteps::add(const Function& f, const std::vector<ValueId>& arguments, const std::vector<Op>& ops,
                       const IsComputedOnce& once) {
  LastUses lastUse;
  for (const ValueId v : arguments) lastUse[v] = nullptr;
  for (const Op& op : ops) {
    use(op, op, lastUse);
    for (const ValueId v : op.results) lastUse[v] = &op;  // until it is used: dies where it is made
  }
  std::unordered_map<const Op*, std::vector<ValueId>> dying;
  for (const auto& [value, op] : lastUse)
    if (op) dying[op].push_back(value);

  std::vector<Step>& steps = ofBlock_[&ops];
  for (const Op& op : ops) {
    Step& step = steps.emplace_back();
    step.op = &op;
    step.dying = dying[&op];
    for (auto v = op.operands.begin(); v != op.operands.end(); ++v)
      step.takes.push_back(op.regions.empty() && std::ranges::find(step.dying, *v) != step.dying.end() &&
                           std::find(v + 1, op.operands.end(), *v) == op.operands.end());
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
    for (const Block& block : op.regions) add(f, block.arguments, block.ops, once);
}

}  // namespace smalti::driver
