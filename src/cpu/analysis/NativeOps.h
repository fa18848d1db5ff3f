// Which ops have native code. The functions are defined next to that code; src/eval computes other ops that have no
// memory effects.
#pragma once

#include "mlir/IR/Operation.h"

namespace smalti::cpu {

/// True when the op is element-wise and native for its dtypes (emit/elements/Elementwise.cpp has the table).
bool isNativeElementwise(mlir::Operation&);
/// Whether nests can compute the op (apart from loads and stores, which are added with their accesses).
bool isCollected(mlir::Operation&);
/// Whether nests can compute the reduction.
bool isNativeReduction(mlir::Operation&);

// Ops that no nest computes, by name: whether there is native code for one of this form.
bool isNativeBitcast(mlir::Operation&);         ///< tpu.bitcast between widths
bool isNativeIota(mlir::Operation&);            ///< tpu.iota over several dimensions
bool isNativeMultiReduction(mlir::Operation&);  ///< vector.multi_reduction
bool isNativeProduct(mlir::Operation&);         ///< tpu.matmul
bool isNativeSearch(mlir::Operation&);          ///< tpu.reduce_index

}  // namespace smalti::cpu
