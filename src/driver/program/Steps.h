// The facts about each op of a Program that the runner needs, looked up once.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "driver/program/ElementwiseGroups.h"
#include "driver/program/StepKernels.h"
#include "plain/Collectives.h"
#include "plain/PlainEvaluators.h"

namespace smalti::driver {

class ProgramRunner;

/// One op of a block, or a group of element-wise ones.
struct Step {
  /// Null: it remains an op or a group.
  void computeWith(std::shared_ptr<const StepKernel>);

  const Op* op = nullptr;  ///< of a group the last one
  std::shared_ptr<const ElementwiseGroup> group;
  std::vector<ValueId> operands, results;
  std::vector<std::vector<int64_t>> permutations;  ///< StepOps::permutations
  std::shared_ptr<const StepKernel> kernel;        ///< native code that computes it; null: there is none
  /// Runs ops that do more than compute arrays; null: `exchange` or `evaluate` runs it.
  Status (ProgramRunner::*run)(const Function&, const Step&, std::span<struct DeviceState*>) = nullptr;
  plain::CollectiveEvaluator exchange = nullptr;
  plain::PlainEvaluator evaluate = nullptr;
  bool returns = false;
  /// Its results are equal on all devices (EqualValues.h): one device computes them, the others share them.
  bool once = false;
  /// For each operand, whether this is its last use, so that the op may take its memory.
  std::vector<bool> takes;
  /// Values whose last use is this op, except operands that it takes. Values that a region takes from outside live
  /// until the op that holds the region ends, or their last use in the branch that is taken.
  std::vector<ValueId> dying;
  std::vector<ArrayType> types;  ///< of the results
};

/// The steps of a Program, by the list of ops of a block.
class ProgramSteps {
 public:
  using OfOp = std::function<bool(const Op&)>;
  /// Adds the steps of a function, and of the regions of its ops, except ops whose results nothing uses and that have
  /// no effects. `once`: whether one device computes the op for all.
  void add(const Function&, const OfOp& once, const OfOp& hasEffects);
  const std::vector<Step>& of(const std::vector<Op>& ops) const { return ofBlock_.at(&ops); }
  std::vector<Step>& of(const std::vector<Op>& ops) { return ofBlock_.at(&ops); }

 private:
  /// `own`: the values that a block may give up, its arguments and, of a branch, others that die with it.
  void add(const Function&, const std::vector<ValueId>& own, const std::vector<Op>& ops, const OfOp& once,
           const OfOp& hasEffects);

  std::unordered_map<const std::vector<Op>*, std::vector<Step>> ofBlock_;
};

}  // namespace smalti::driver
