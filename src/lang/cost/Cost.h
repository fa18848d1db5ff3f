// The cost of a kernel, counted from its trace (L5).
#pragma once

#include <unordered_map>

#include "lang/call/TracedKernel.h"

namespace smalti::lang {

/// Adds up what the records say of a trace's ops.
class CostCounter {
 public:
  explicit CostCounter(const TracedFunction& traced) : traced_(traced) {}

  CostEstimate ops(const std::vector<Op>&);
  const ArrayType& type(ValueId v) const { return traced_.function.values[v]; }
  /// The value of a constant met so far.
  std::optional<int64_t> constant(ValueId) const;

 private:
  CostEstimate cost(const Op&);

  const TracedFunction& traced_;
  std::unordered_map<ValueId, int64_t> constants_;
};

/// a * b, at most what 64 bits hold.
int64_t costTimes(int64_t a, int64_t b);

// Rules for records, assigned as in jax/_src/pallas/cost_estimate.py; other ops cost nothing.
CostEstimate elementFlops(CostCounter&, const Op&);    ///< one flop per element of the result
CostEstimate transcendental(CostCounter&, const Op&);  ///< one transcendental per element of the result

/// Pallas' rules: an element-wise op is one flop per element, exp and its like one transcendental, a product
/// 2·B·M·N·K flops; a loop as often as it runs (once where its bounds are traced), of branches the dearer one; all of
/// it times the grid's programs. Bytes are those of inputs and outputs.
CostEstimate estimateCost(const TracedKernel&);

}  // namespace smalti::lang
