// The array that a memref inside a kernel is part of: slices and squeezes keep the tiles of the array they come from.
#pragma once

#include <vector>

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

#include "ir/Tpu.h"
#include "smalti/array.h"
#include "tpu/chip/Chip.h"

namespace smalti::tpu {

struct View {
  ArrayType array;  ///< that the tiles are of
  std::optional<MemorySpace> space;
  std::vector<size_t> dimensions;  ///< of the array, one for each dimension of the view

  bool isTiled() const { return space != MemorySpace::smem && space != MemorySpace::semaphore_mem; }
  size_t rank() const { return array.shape.size(); }
  /// Is dimension `d` of the array its last, or last but one?
  bool isLane(size_t d) const { return d + 1 == rank(); }
  bool isRow(size_t d) const { return rank() >= 2 && d + 2 == rank(); }
  /// Elements of a tile along dimension `d` of the array; 1 for leading dimensions.
  int64_t tile(const Chip&, size_t d) const;
};

/// nullopt for memrefs of what is not an array.
std::optional<View> viewOf(mlir::Value memref);

}  // namespace smalti::tpu
