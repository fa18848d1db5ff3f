#include "plain/RegionPlan.h"

#include <algorithm>

namespace smalti::plain {
namespace {

bool addConstant(const PlainCall& call, const Op& op, KernelList::Builder& builder) {
  std::vector<Array> none;
  const ArrayType type{call.function.values[op.results[0]].dtype, {}};
  PlainCall inner{op, call.function, none, {&type, 1}, call.device, call.numerics, call.outer};
  const auto constant = findEvaluator(op.name)(inner);
  if (!constant || is_complex(type.dtype)) return false;
  builder.addConstant(op.results[0], (*constant)[0].data());
  return true;
}

}  // namespace

std::optional<RegionPlan> RegionPlan::of(const PlainCall& call, const Block& region) {
  const auto isScalar = [&](ValueId v) { return call.function.values[v].shape.empty(); };
  KernelList::Builder builder(call.function);
  for (const ValueId v : region.arguments) {
    if (!isScalar(v)) return std::nullopt;
    builder.addArgument(v);
  }
  for (const Op& op : region.ops) {
    if (!std::ranges::all_of(op.operands, isScalar) || !std::ranges::all_of(op.results, isScalar)) return std::nullopt;
    for (const ValueId v : op.operands)
      if (!builder.knows(v)) builder.addConstant(v, call.outer(v).data());
    if (op.name == "return") return RegionPlan(builder.finish(op.operands));
    if (op.name == "constant" ? !addConstant(call, op, builder) : !builder.add(op)) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace smalti::plain
