// The work of devices in a manual computation and its collectives, as far as it is known before the arrays are.
#pragma once

#include <deque>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "driver/processes/ProcessGroup.h"
#include "driver/program/Part.h"
#include "eval/Elementwise.h"
#include "ir/program/Exchange.h"

namespace smalti::driver {

/// The part of a result that a device of a manual computation returns.
struct ReturnedPart {
  ArrayType type;
  Part part;
  size_t first = 0;  ///< the first device that returns the same part: itself, or one before it
};

struct ManualPlan {
  struct Device {
    int64_t number = 0;
    size_t outer = 0;  ///< the device of the enclosing computation to which it belongs
    Coordinates coordinates;
    std::vector<Part> arguments;
    std::vector<ReturnedPart> results;
  };
  const DeviceMesh* mesh = nullptr;
  std::vector<Device> devices;  ///< by number
  std::vector<bool> equal;      ///< by result: all devices compute the same array (EqualValues.h)
  bool copies = false;          ///< some of them return the same part of another result
  std::vector<ValueId> taken;   ///< from outside, by the body
};
/// `equal` is false of each result. `outer`: where the devices of the enclosing computation stand.
ManualPlan planManual(const Program&, const Function&, const Op&, std::span<const Coordinates* const> outer);

struct CollectivePlan {
  int64_t devices = 0;
  Exchange exchange;
  std::vector<std::vector<int64_t>> receivers;  ///< by list of senders
  std::vector<std::vector<int64_t>> together;   ///< senders and receivers of a list, ascending
  std::vector<ArrayType> results;
  eval::BinaryKernel reducer = nullptr;  ///< of a reduction whose reducer is one op (plain::reducerOf)
  bool amongAll = false;                 ///< every device receives what all send, in the order of their numbers
};
/// Errors: exchangeOf's.
Result<CollectivePlan> planCollective(const Function&, const Op&, int64_t devices);

/// The plans of a program's ops for main's manual computations, which most are. The others are made when they run.
class DevicePlans {
 public:
  /// `kernels`: resultsFollowFromOperands of each.
  void add(const Program&, const Function&, const std::vector<Op>&, const std::vector<bool>& kernels);
  /// Null where there is none.
  const ManualPlan* manual(const Op&) const;
  const CollectivePlan* collective(const Op&, int64_t devices) const;
  /// Whether one device may compute the op's results for all.
  bool isComputedOnce(const Op& op) const { return once_.contains(&op); }

 private:
  void addCollectives(const Function&, const std::vector<Op>&, int64_t devices);
  std::unordered_map<const Op*, ManualPlan> manual_;
  std::unordered_map<const Op*, CollectivePlan> collective_;
  std::unordered_set<const Op*> once_;
};

}  // namespace smalti::driver
