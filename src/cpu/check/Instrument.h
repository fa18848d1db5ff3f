// A kernel that checks itself: next to it, for every memory that may be read undefined, runs a shadow, an i1 for each
// element, which its own ops keep.
#pragma once

#include "cpu/check/Plan.h"

namespace smalti::cpu {

/// The kernel with its checks. Shadows of scratch are more scratch, shadows of outputs are more outputs over the same
/// windows: all of their elements must be true after a call. A check that fails ends the call with a fault.
struct CheckedPackage {
  KernelPackage package;
  size_t shadowResults = 0;           ///< the last of the package's results
  std::vector<std::string> shadowed;  ///< "output 0", "scratch 1", "an allocation": what has a shadow
};

tl::expected<CheckedPackage, Unsupported> withChecks(const KernelPackage&);

}  // namespace smalti::cpu
