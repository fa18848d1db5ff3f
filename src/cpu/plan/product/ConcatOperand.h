// The B of a skinny product that is a vertical concatenation of blocks, such as the pages of keys of one step. The
// product reads the blocks in place, alternating between their rows, so that memory fetches from all of them at a time.
#pragma once

#include "mlir/IR/Operation.h"

namespace smalti::cpu {

/// Whether the concatenation is only used as such an operand, so that it needs no memory.
bool isReadInBlocks(mlir::Operation& concatenation);

}  // namespace smalti::cpu
