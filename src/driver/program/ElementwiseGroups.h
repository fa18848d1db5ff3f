// Element-wise ops that follow each other are computed together, block by block, without arrays between them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "lang/fuse/ElementwiseKernel.h"
#include "plain/KernelList.h"
#include "plain/PlainEvaluators.h"

namespace smalti::driver {

/// Ops that give the same number of elements. Constants and broadcasts that they read are part of them.
struct ElementwiseGroup {
  std::vector<ValueId> operands, results;
  int64_t elements = 0;
  plain::KernelList kernels;
  lang::ElementwiseForm form;  ///< the same for native code; its operands are the arrays of `operands`

  /// The arrays of `results`. One may be in the memory of an operand that has no other user. Once `stop` is set, no
  /// more elements are computed.
  plain::PlainResults run(std::vector<Array>& operands, std::span<const ArrayType> types, const plain::ShareWork& share,
                          const std::atomic<bool>* stop) const;
};

/// What one step of a block runs: an op, or a group with its last op.
struct StepOps {
  const Op* op = nullptr;
  std::shared_ptr<const ElementwiseGroup> group;
  std::vector<ValueId> operands;
  /// Of a product whose operands are transposed arrays, but stand in `operands` as they were before: for each the
  /// transpose's permutation, empty for those that are not transposed. Empty for other ops.
  std::vector<std::vector<int64_t>> permutations{};

  const std::vector<ValueId>& results() const { return group ? group->results : op->results; }
};

/// The steps of a block in an order in which they can run. Ops with another answer of `key` are not grouped together.
/// Ops whose results nothing needs, as when all groups and products that read them contain them, are left out unless
/// they have effects.
std::vector<StepOps> groupElementwise(const Function&, const std::vector<Op>& ops,
                                      const std::function<bool(const Op&)>& key,
                                      const std::function<bool(const Op&)>& hasEffects);

}  // namespace smalti::driver
