// Narrow floats that products read as f32.
#pragma once

#include "cpu/emit/Lowering.h"

namespace smalti::cpu {

/// What the elements of a value lie in memory as, between two nests: its own dtype; or f32, for a narrow float that
/// only products need, as their left operand, and multiply as f32. Its rows are then read where they are, where they
/// would be copied to rows of f32 first.
DType storageDType(const Processor&, mlir::Value);

}  // namespace smalti::cpu
