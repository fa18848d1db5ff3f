// Memory between two ops.
#pragma once

#include "ir/facts/OpFamilies.h"

namespace smalti::cpu {

/// Whether no op between the two, of one block, writes to memory or has a region.
inline bool onlyReadsBetween(mlir::Operation& from, mlir::Operation& to) {
  for (mlir::Operation* op = from.getNextNode(); op != &to; op = op->getNextNode())
    if (!op || op->getNumRegions() != 0 || mayChangeMemory(*op)) return false;
  return true;
}

}  // namespace smalti::cpu
