// Values in vector registers.
#pragma once

#include "mlir/IR/Value.h"

#include "smalti/array.h"

namespace smalti::tpu {

inline constexpr int64_t kRegisterBytes = 8 * 128 * 4;

/// Registers that an array of this type fills: tiles of 8 rows, or 8 rows of each packed part, by 128 lanes.
int64_t registersOf(const ArrayType&);
/// The same of a value; 0 for what is not a vector.
int64_t registersOf(mlir::Value);
/// Registers of 8 rows of it, side by side.
int64_t registersOfRow(mlir::Value);

}  // namespace smalti::tpu
