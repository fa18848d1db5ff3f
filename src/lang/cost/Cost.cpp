#include "lang/cost/Cost.h"

#include "lang/refs/Indexer.h"

namespace smalti::lang {

int64_t costTimes(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

CostEstimate elementFlops(CostCounter& counter, const Op& op) {
  return {.flops = counter.type(op.results[0]).elements()};
}
CostEstimate transcendental(CostCounter& counter, const Op& op) {
  return {.transcendentals = counter.type(op.results[0]).elements()};
}

CostEstimate CostCounter::ops(const std::vector<Op>& list) {
  CostEstimate total;
  for (const Op& op : list) {
    const CostEstimate c = cost(op);
    total.flops += c.flops;
    total.transcendentals += c.transcendentals;
  }
  return total;
}

std::optional<int64_t> CostCounter::constant(ValueId v) const {
  const auto known = constants_.find(v);
  return known == constants_.end() ? std::nullopt : std::optional(known->second);
}

CostEstimate CostCounter::cost(const Op& op) {
  if (op.name == "constant")
    if (const auto value = concreteInteger(std::get<Array>(*op.find("value")))) constants_[op.results[0]] = *value;
  const OpRecord* record = findOp(op.name);
  if (record && record->cost) return record->cost(*this, op);
  CostEstimate total;
  for (const Block& block : op.regions) {
    const CostEstimate c = ops(block.ops);
    total.flops += c.flops;
    total.transcendentals += c.transcendentals;
  }
  return total;
}

namespace {

int64_t bytesOf(const ArrayType& type) { return is_semaphore(type.dtype) ? 0 : type.bytes(); }

}  // namespace

CostEstimate estimateCost(const TracedKernel& kernel) {
  CostEstimate cost = CostCounter(kernel.body).ops(kernel.body.function.ops);
  for (const int64_t size : kernel.grid) {
    if (size == kDynamicBound) continue;
    cost.flops = costTimes(cost.flops, size);
    cost.transcendentals = costTimes(cost.transcendentals, size);
  }
  for (const ArrayType& t : kernel.prefetch) cost.bytes_accessed += bytesOf(t);
  for (const TracedOperand& o : kernel.operands) cost.bytes_accessed += bytesOf(o.array);
  return cost;
}

}  // namespace smalti::lang
