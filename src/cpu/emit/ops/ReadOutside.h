// Loads that reach outside their ref: the call ends with a fault, or continues with undefined elements.
#pragma once

#include <span>

#include "cpu/emit/NativeLowering.h"

namespace smalti::cpu {

/// The elements that a load accesses in a ref; one entry per dimension.
struct LoadBounds {
  std::span<const Reg> starts;
  std::span<const int64_t> sizes, steps;  ///< empty steps: 1
};

/// The address of the load's first element: `base` if it is `inside` (i1), else where cpu/runtime/OutsideReads.h
/// has copied it, with the same strides.
Reg loadedFrom(NativeLowering&, mlir::Operation&, const View& ref, const LoadBounds&, Reg inside, Reg base);
/// Where a kernel has many loads, `loadedFrom` calls functions that decide. Replaces the calls that simplified code
/// shows to be inside; whether there were any.
bool inlineInsideLoads(llvm::Module&);
/// Code without run-time functions (exported objects) ends the call.
void endAtOutsideReads(llvm::Module&);

}  // namespace smalti::cpu
