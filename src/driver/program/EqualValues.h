// Finds the results of a manual computation that are equal on all devices for all arguments: those that every device
// computes by the same ops from results that a collective gives to all devices, or from constants. They need neither be
// compared nor sent from one process to another.
#pragma once

#include <functional>
#include <vector>

#include "ir/program/Exchange.h"
#include "ir/program/Program.h"

namespace smalti::driver {

/// Whether equal operands are certain to give equal results: the kernel has no scratch, communicates with no device and
/// draws no random bits.
bool resultsFollowFromOperands(const KernelPackage&);

/// The senders and receivers of a collective of the body; null where they are not known in advance.
using FindExchange = std::function<const Exchange*(const Op&)>;

struct EqualValues {
  std::vector<bool> results;   ///< by result of the manual computation
  std::vector<const Op*> ops;  ///< of its body, which one device may compute for all
};
/// `manual` is an op of the function. `kernels`: resultsFollowFromOperands of each.
EqualValues equalValues(const Function&, const Op& manual, const std::vector<bool>& kernels, const FindExchange&);

/// The values that ops of the block, and of the regions in it, take from outside it, ascending.
std::vector<ValueId> takenBy(const Block&);

}  // namespace smalti::driver
