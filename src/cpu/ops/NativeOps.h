// Which ops have native code, besides element-wise ones (ElementwiseOps.h) and products (plan/product/ProductTypes.h).
// src/eval computes other ops that have no memory effects.
#pragma once

#include <optional>

#include "eval/Reduce.h"
#include "mlir/IR/Operation.h"

namespace smalti::cpu {

/// Whether nests can compute the op (apart from loads and stores, which are added with their accesses).
bool isNestable(mlir::Operation&);
/// Whether nests can compute the reduction.
bool isNativeReduction(mlir::Operation&);
/// The kind of a vector.multi_reduction; nullopt: native code has none of this kind for its dtype.
std::optional<eval::ReduceKind> nativeReductionKind(mlir::Operation&);
/// The kind of a reduction for which isNativeReduction() holds.
eval::ReduceKind reductionKind(mlir::Operation&);

// Ops that no nest computes, by name: whether there is native code for one of this form.
bool isNativeBitcast(mlir::Operation&);         ///< tpu.bitcast between widths
bool isNativeIota(mlir::Operation&);            ///< tpu.iota over several dimensions
bool isNativeMultiReduction(mlir::Operation&);  ///< vector.multi_reduction
bool isNativeArgReduction(mlir::Operation&);    ///< tpu.reduce_index

}  // namespace smalti::cpu
