// The part of memory that a load or a store touches: all that a schedule asks about it.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "smalti/array.h"

namespace smalti::schedule {

struct Access {
  static constexpr int kNoMemory = -1;
  int memory = kNoMemory;  ///< which memory of the kernel: accesses to different ones never overlap
  DType dtype = DType::f32;
  Shape shape;                    ///< of the value that is loaded or stored
  bool isDense = false;           ///< its elements are known to be row-major without gaps
  bool isMemoryResident = false;  ///< its array is larger than the caches
  bool isNonTemporal = false;     ///< stores bypass the caches
};

/// False: the two surely have no element in common.
inline bool mayOverlap(const Access& a, const Access& b) {
  return a.memory == b.memory && a.memory != Access::kNoMemory;
}

/// Whether two loads or stores address the same elements of the same ref, by construction: from the same indices, or
/// from indices that are computed by the same ops from the same values. False: not known.
bool haveSameAddress(mlir::Operation& a, mlir::Operation& b);

}  // namespace smalti::schedule
