// Loads that reach outside of their ref: the call ends with a fault, or goes on with what is undefined.
#pragma once

#include <span>

#include "cpu/emit/Lowering.h"

namespace smalti::cpu {

/// What a load touches of a ref; one per dimension.
struct LoadBounds {
  std::span<const Reg> starts;
  std::span<const int64_t> sizes, steps;  ///< no steps: 1
};

/// Where the load finds its first element: at `base` if it lies `inside` (i1), else where cpu/runtime/OutsideReads.h
/// has put it, strides as they are.
Reg loadedFrom(Lowering&, mlir::Operation&, const View& ref, const LoadBounds&, Reg inside, Reg base);
/// Code that has no run-time functions with it does not go on.
void endAtOutsideReads(llvm::Module&);

}  // namespace smalti::cpu
