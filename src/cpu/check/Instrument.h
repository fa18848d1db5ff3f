// Adds checks to a kernel. Every memory that may be read undefined gets a shadow, one i1 per element, which ops of the
// kernel itself maintain.
#pragma once

#include "cpu/check/Plan.h"

namespace smalti::cpu {

/// The kernel with its checks. Shadows of scratch are additional scratch, shadows of outputs additional outputs with
/// the same windows: all of their elements must be true after a call. A check that fails ends the call with a fault.
struct CheckedPackage {
  KernelPackage package;
  size_t shadowResults = 0;           ///< how many of the package's last results are shadows
  std::vector<std::string> shadowed;  ///< the memories with a shadow: "output 0", "scratch 1", "an allocation"
  std::vector<std::string> rewrites;  ///< names of the passes of Passes.h that ran before the checks were added
};

tl::expected<CheckedPackage, Unsupported> withChecks(const KernelPackage&);

/// Removes the shadows from the results of a call; false: an output has undefined elements.
bool removeShadows(std::vector<Array>& results, size_t shadowResults);
/// Whether the checks include accesses to memory that a copy in flight reads or writes.
bool tracksCopies(const KernelPackage&);

}  // namespace smalti::cpu
