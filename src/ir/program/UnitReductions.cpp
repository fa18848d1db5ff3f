#include "ir/program/UnitReductions.h"

#include <algorithm>
#include <utility>

#include "ir/program/PlainOps.h"

namespace smalti {
namespace {

/// The op of a region that applies it to both arguments, in any order, and returns its result; null: it is another one.
const Op* onlyOp(const Block& region) {
  if (region.ops.size() != 2) return nullptr;
  const Op &op = region.ops[0], &end = region.ops[1];
  return op.operands.size() == 2 && op.regions.empty() && std::ranges::is_permutation(op.operands, region.arguments) &&
                 end.operands == op.results
             ? &op
             : nullptr;
}

bool isUnitReduction(const Function& f, const Op& op) {
  if (op.name != "reduce" || op.operands.size() != 2 || !onlyOp(op.regions[0])) return false;
  const Shape& shape = f.values[op.operands[0]].shape;
  return std::ranges::all_of(TypedOp{op, f}.integers("dimensions"), [&](int64_t d) { return shape[d] == 1; });
}

void expand(Function& f, std::vector<Op>& ops) {
  std::vector<Op> made;
  made.reserve(ops.size());
  for (Op& op : ops) {
    for (Block& block : op.regions) expand(f, block.ops);
    if (!isUnitReduction(f, op)) {
      made.push_back(std::move(op));
      continue;
    }
    const Block& region = op.regions[0];
    const auto sameType = [&](const char* name, ValueId operand, std::vector<std::pair<std::string, Attribute>> with) {
      const auto result = static_cast<ValueId>(f.values.size());
      f.values.push_back(ArrayType(f.values[op.results[0]]));
      made.push_back(
          {.name = name, .operands = {operand}, .results = {result}, .attributes = std::move(with), .place = op.place});
      return result;
    };
    const ValueId element = sameType("reshape", op.operands[0], {});
    const ValueId first =
        sameType("broadcast_in_dim", op.operands[1], {{"broadcast_dimensions", std::vector<int64_t>{}}});
    Op applied = *onlyOp(region);
    for (ValueId& v : applied.operands) v = v == region.arguments[0] ? first : element;
    applied.results = op.results;
    applied.place = op.place;
    made.push_back(std::move(applied));
  }
  ops = std::move(made);
}

}  // namespace

void expandUnitReductions(Function& f) { expand(f, f.ops); }

}  // namespace smalti
