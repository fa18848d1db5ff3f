// Finds masks of the elements past the end of an input's array, in a partial block.
//
//   %x = vector.load %ref[…]
//   %at = program_id(axis) * block + iota
//   %in = arith.cmpi slt, %at, extent
//   %y = arith.select %in, %x, 0
#pragma once

#include <optional>
#include <vector>

#include "ir/KernelPackage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace smalti::cpu {

struct EdgeMask {
  mlir::arith::SelectOp select;
  mlir::Value inside;  ///< the value that it selects for elements inside the array
};

/// The masks `where(program_id * block + iota < extent, x, 0)` of everything that is read from the input, along one
/// dimension of its array. nullopt: elements past the end along that dimension may have other uses. `input`: numbered
/// as in KernelSignature::windows.
std::optional<std::vector<EdgeMask>> edgeMasks(const KernelPackage&, size_t input, size_t dimension);

}  // namespace smalti::cpu
