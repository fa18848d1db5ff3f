// Scratch that the compiler optimises away.
#pragma once

#include "mlir/IR/Value.h"

#include "ir/KernelPackage.h"

namespace smalti::tpu {

/// Nothing reads it, or each grid step writes all of it before it reads it, so that its values stay in registers.
bool isRemoved(const KernelPackage&, mlir::Value scratch);

/// Whether all of a ref is loaded, from the value that a step stored before: it takes no memory.
bool isForwarded(const KernelPackage&, mlir::Value scratch);

}  // namespace smalti::tpu
