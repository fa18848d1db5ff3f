#include "ir/program/Uses.h"

namespace smalti {
namespace {

void collect(const std::vector<Op>& ops, std::unordered_set<ValueId>& used) {
  for (const Op& op : ops) {
    used.insert(op.operands.begin(), op.operands.end());
    for (const Block& block : op.regions) collect(block.ops, used);
  }
}

}  // namespace

std::unordered_set<ValueId> valuesUsedBy(const std::vector<Op>& ops) {
  std::unordered_set<ValueId> used;
  collect(ops, used);
  return used;
}

}  // namespace smalti
