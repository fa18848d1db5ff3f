#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace smalti::tpu {

/// Replaces the ops that are only read (wait_dma2) by what they are today (wait_dma).
void upgradeLegacyOps(mlir::ModuleOp);

}  // namespace smalti::tpu
