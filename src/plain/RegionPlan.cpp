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

std::optional<eval::ReduceKind> reduceKind(const Block& block, DType t) {
  if (block.arguments.size() != 2 || block.ops.size() != 2 || block.ops[1].name != "return") return std::nullopt;
  const Op& op = block.ops[0];
  const auto& [a, b] = std::pair{block.arguments[0], block.arguments[1]};
  if (op.operands != std::vector{a, b} && op.operands != std::vector{b, a}) return std::nullopt;
  if (op.results != block.ops[1].operands) return std::nullopt;
  if (is_complex(t)) return std::nullopt;
  using enum eval::ReduceKind;
  const bool floats = is_float(t), isUnsigned = is_unsigned_integer(t) || t == DType::pred;
  if (t == DType::pred && op.name != "and" && op.name != "or" && op.name != "xor") return std::nullopt;
  if (op.name == "add") return add;
  if (op.name == "multiply") return mul;
  if (op.name == "maximum") return floats ? maximumf : isUnsigned ? maxui : maxsi;
  if (op.name == "minimum") return floats ? minimumf : isUnsigned ? minui : minsi;
  if (op.name == "and" && !floats) return andi;
  if (op.name == "or" && !floats) return ori;
  if (op.name == "xor" && !floats) return xori;
  return std::nullopt;
}

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
