#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace smalti::tpu {

/// Replaces the ops that are only read (wait_dma2) by what they are today (wait_dma).
void upgradeLegacyOps(mlir::ModuleOp);
/// Replaces ops of arith that no target has, and Pallas emits (the high half of a product), by ops that they have.
void expandOps(mlir::ModuleOp);

}  // namespace smalti::tpu
