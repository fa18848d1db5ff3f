// Loads that reach outside their ref, and blocks of inputs outside their array: the call ends, or continues with
// undefined elements.
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

/// Where a block of an input begins: `base` if it is `inside` the array (i1), else undefined memory with `block`'s
/// strides, or the call ends with KernelStatus::outside. `hasBuffer`: the block is copied to a buffer, and `base` is
/// returned. `undefined`: the dtype with the signedness of what is undefined.
Reg inputBlockFrom(NativeLowering&, int operand, const View& block, DType undefined, Reg inside, bool hasBuffer);

}  // namespace smalti::cpu
