// What the runner has to know of each op of a Program, looked up once.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "plain/Collectives.h"
#include "plain/PlainEvaluators.h"

namespace smalti::driver {

class ProgramRunner;

/// One op of a block.
struct Step {
  const Op* op = nullptr;
  /// What runs ops that are no matter of arrays alone; null: `exchange` or `evaluate` does.
  Status (ProgramRunner::*run)(const Function&, const Step&, std::span<struct DeviceState*>) = nullptr;
  plain::CollectiveEvaluator exchange = nullptr;
  plain::PlainEvaluator evaluate = nullptr;
  bool returns = false;
  /// Its results are equal on all devices (EqualValues.h): one device computes them, the others share them.
  bool once = false;
  /// By operand: its last use is this one, so that its memory is the op's.
  std::vector<bool> takes;
  /// Values whose last use is this op, except operands that it takes. Values that a region takes from outside live
  /// until the op that holds the region ends.
  std::vector<ValueId> dying;
  std::vector<ArrayType> types;  ///< of the results
};

/// By the ops of a block.
class ProgramSteps {
 public:
  using IsComputedOnce = std::function<bool(const Op&)>;
  /// Of a function, and of the regions of its ops.
  void add(const Function&, const IsComputedOnce&);
  const std::vector<Step>& of(const std::vector<Op>& ops) const { return ofBlock_.at(&ops); }

 private:
  void add(const Function&, const std::vector<ValueId>& arguments, const std::vector<Op>& ops, const IsComputedOnce&);

  std::unordered_map<const std::vector<Op>*, std::vector<Step>> ofBlock_;
};

}  // namespace smalti::driver
