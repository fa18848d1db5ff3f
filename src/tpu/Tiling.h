// How arrays are cut into tiles in VMEM and HBM.
#pragma once

#include <optional>

#include "mlir/IR/BuiltinTypes.h"

#include "smalti/array.h"
#include "tpu/chip/Chip.h"

namespace smalti::tpu {

inline constexpr int64_t kLanes = 128;

/// Bits of an element in a register; bool is a 32-bit word.
int64_t elementBits(DType);
/// Elements in a 32-bit word.
int64_t packingOf(DType);

/// Rows of the tiles of an array of rank 2 and more.
int64_t tileRows(const Chip&, DType, int64_t rows);
/// Elements of the tiles of an array of rank 1.
int64_t tileElements(DType);

/// Bytes of an array in VMEM, padded to tiles; 0 for a scalar.
int64_t paddedBytes(const Chip&, const ArrayType&);

}  // namespace smalti::tpu
