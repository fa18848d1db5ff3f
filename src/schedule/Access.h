// The memory that a load or store accesses, as far as scheduling depends on it.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "smalti/array.h"

namespace smalti::schedule {

struct Access {
  static constexpr int kNoMemory = -1;
  int memory = kNoMemory;  ///< id of a memory of the kernel; different memories never overlap
  DType dtype = DType::f32;
  Shape shape;                 ///< shape of the loaded or stored value
  bool isDense = false;        ///< the elements are known to be row-major without gaps
  bool isInDram = false;       ///< the array is larger than the caches
  bool isNonTemporal = false;  ///< stores bypass the caches
};

/// False: the two accesses have no element in common.
inline bool mayOverlap(const Access& a, const Access& b) {
  return a.memory == b.memory && a.memory != Access::kNoMemory;
}

/// Whether two loads or stores provably access the same elements of the same ref: they have the same indices, or
/// indices computed by the same ops from the same values.
bool haveSameAddress(mlir::Operation& a, mlir::Operation& b);
/// Whether two loads or stores of vectors provably access different elements of the same ref: along some dimension, the
/// constant indices of one are past the end of the other's.
bool areDisjoint(mlir::Operation& a, mlir::Operation& b);

}  // namespace smalti::schedule
