// Values of narrow floats that are stored as f32 for products.
#pragma once

#include "cpu/Processor.h"
#include "mlir/IR/Value.h"
#include "smalti/dtype.h"

namespace smalti::cpu {

/// The dtype in which a value is stored between two nests: its own; or f32, for a narrow float that
/// is only used as left operand of products that multiply as f32. The products then read its rows in place instead of
/// converting them first.
DType storageDType(const Processor&, mlir::Value);

}  // namespace smalti::cpu
