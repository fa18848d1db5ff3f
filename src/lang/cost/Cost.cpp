#include "lang/cost/Cost.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "lang/refs/Indexer.h"

namespace smalti::lang {
namespace {

// The lists of jax/_src/pallas/cost_estimate.py, in this project's names; other ops cost nothing.
constexpr std::array<std::string_view, 15> kFlops{"add",
                                                  "subtract",
                                                  "multiply",
                                                  "divide",
                                                  "minimum",
                                                  "maximum",
                                                  "or",
                                                  "and",
                                                  "xor",
                                                  "negate",
                                                  "floor",
                                                  "ceil",
                                                  "round_nearest_even",
                                                  "round_nearest_afz",
                                                  "not"};
constexpr std::array<std::string_view, 9> kTranscendentals{"cosine", "sine",     "tan",  "tanh", "exponential",
                                                           "log",    "logistic", "sqrt", "atan2"};

/// a * b, at most what 64 bits hold.
int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

class Counter {
 public:
  explicit Counter(const TracedFunction& traced) : traced_(traced) {}

  CostEstimate ops(const std::vector<Op>& list) {
    CostEstimate total;
    for (const Op& op : list) {
      const CostEstimate c = cost(op);
      total.flops += c.flops;
      total.transcendentals += c.transcendentals;
    }
    return total;
  }

 private:
  CostEstimate cost(const Op& op) {
    const auto in = [&](const auto& names) { return std::find(names.begin(), names.end(), op.name) != names.end(); };
    if (op.name == "constant") {
      if (const auto value = concreteInteger(std::get<Array>(*op.find("value")))) constants_[op.results[0]] = *value;
      return {};
    }
    if (in(kFlops)) return {.flops = type(op.results[0]).elements()};
    if (in(kTranscendentals)) return {.transcendentals = type(op.results[0]).elements()};
    if (op.name == "dot_general") return {.flops = product(op)};
    CostEstimate total;
    if (op.name == "if") {
      for (const Block& block : op.regions) {
        const CostEstimate c = ops(block.ops);
        total.flops = std::max(total.flops, c.flops);
        total.transcendentals = std::max(total.transcendentals, c.transcendentals);
      }
      return total;
    }
    const int64_t trips = op.name == "for" ? tripCount(op) : 1;
    for (const Block& block : op.regions) {
      const CostEstimate c = ops(block.ops);
      total.flops += times(c.flops, trips);
      total.transcendentals += times(c.transcendentals, trips);
    }
    return total;
  }

  /// Operands of a "for" are its bounds first; the index walks in steps of the attribute.
  int64_t tripCount(const Op& op) const {
    const auto lower = constants_.find(op.operands[0]), upper = constants_.find(op.operands[1]);
    if (lower == constants_.end() || upper == constants_.end()) return 1;
    const auto* step = op.find("step");
    const int64_t by = step ? std::max<int64_t>(std::get<int64_t>(*step), 1) : 1;
    return std::max<int64_t>((upper->second - lower->second + by - 1) / by, 0);
  }

  int64_t product(const Op& op) const {
    int64_t flops = times(2, type(op.results[0]).elements());
    const Shape& lhs = type(op.operands[0]).shape;
    for (const int64_t axis : std::get<std::vector<int64_t>>(*op.find("lhs_contracting_dimensions")))
      flops = times(flops, lhs[axis]);
    return flops;
  }

  const ArrayType& type(ValueId v) const { return traced_.function.values[v]; }

  const TracedFunction& traced_;
  std::unordered_map<ValueId, int64_t> constants_;
};

int64_t bytesOf(const ArrayType& type) { return is_semaphore(type.dtype) ? 0 : type.bytes(); }

}  // namespace

CostEstimate estimateCost(const TracedKernel& kernel) {
  CostEstimate cost = Counter(kernel.body).ops(kernel.body.function.ops);
  for (const int64_t size : kernel.grid) {
    if (size == kDynamicBound) continue;
    cost.flops = times(cost.flops, size);
    cost.transcendentals = times(cost.transcendentals, size);
  }
  for (const ArrayType& t : kernel.prefetch) cost.bytes_accessed += bytesOf(t);
  for (const TracedOperand& o : kernel.operands) cost.bytes_accessed += bytesOf(o.array);
  return cost;
}

}  // namespace smalti::lang
