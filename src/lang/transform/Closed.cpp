#include "lang/transform/Closed.h"

#include <unordered_set>

#include "lang/trace/Replay.h"

namespace smalti::lang {
namespace {

void collectUsed(const std::vector<Op>& ops, std::unordered_set<ValueId>& used) {
  for (const Op& op : ops) {
    used.insert(op.operands.begin(), op.operands.end());
    for (const Block& block : op.regions) collectUsed(block.ops, used);
  }
}

}  // namespace

ClosedCall closeRegions(const OpCall& call) {
  ClosedCall closed{.op = &call.op,
                    .inputs = {call.operands.begin(), call.operands.end()},
                    .numOperands = call.operands.size(),
                    .regions = {},
                    .results = {},
                    .attributes = call.attributes,
                    .at = call.location()};
  for (const Region& region : call.regions) {
    Trace trace("a transformed function", Trace::Kind::function);
    std::vector<Array> inside;
    for (const ArrayType& type : region.arguments) inside.push_back(trace.addArgument(type));
    std::vector<Array> results = region.body(inside);
    auto function = std::make_shared<TracedFunction>(trace.finish(std::move(results)));
    const std::vector<Array>& captures = trace.captures();
    closed.regions.push_back({std::move(function), inside.size(), closed.inputs.size(), captures.size()});
    closed.inputs.insert(closed.inputs.end(), captures.begin(), captures.end());
  }
  closed.results = call.settled ? *call.settled : std::vector<ArrayType>(call.results.begin(), call.results.end());
  return closed;
}

std::vector<Array> bindAgain(const ClosedCall& call, std::span<const Array> inputs) {
  std::vector<Region> regions;
  for (const ClosedRegion& region : call.regions) {
    const std::vector<ValueId>& arguments = region.function->function.arguments;
    std::vector<ArrayType> types;
    for (size_t i = 0; i < region.numArguments; ++i) types.push_back(region.function->function.values[arguments[i]]);
    regions.push_back({std::move(types), [&region, inputs](std::span<const Array> inside) {
                         std::vector<Array> all(inside.begin(), inside.end());
                         const auto captured = capturesOf(region, inputs);
                         all.insert(all.end(), captured.begin(), captured.end());
                         return replay(*region.function, all);
                       }});
  }
  return bindRegions(*call.op, inputs.first(call.numOperands), call.results, regions, call.at, call.attributes);
}

Mask usedArguments(const TracedFunction& function) {
  std::unordered_set<ValueId> used;
  collectUsed(function.function.ops, used);
  Mask mask;
  for (const ValueId v : function.function.arguments) mask.push_back(used.count(v) > 0);
  return mask;
}

}  // namespace smalti::lang
