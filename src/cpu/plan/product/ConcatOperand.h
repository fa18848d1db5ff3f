// Right operands of products of few rows that are blocks below each other, such as the pages of keys of one step: the
// product reads them where they are, a row of each in turn, so that memory fetches from all of them at a time.
#pragma once

#include "mlir/IR/Operation.h"

namespace smalti::cpu {

/// Whether the concatenation is only used as such an operand, so that it needs no memory.
bool isReadInBlocks(mlir::Operation& concatenation);

}  // namespace smalti::cpu
