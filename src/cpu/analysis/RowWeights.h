// The weights of a softmax: exponentials of the elements of a row, and what is done with them.
#pragma once

#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smalti::cpu {

/// Whether the reduction is the maximum of each row, -∞ of an empty one.
bool isMaximumOfRows(mlir::vector::MultiDimReductionOp);

/// A value per row of a matrix, before it is repeated along the rows: a column. Null: it is something else.
mlir::Value perRow(mlir::Value);
/// The reduction of the rows of a matrix that the value per row is. Null: it is none.
mlir::vector::MultiDimReductionOp reductionOf(mlir::Value, mlir::vector::CombiningKind, mlir::Value matrix);

/// Whether the use sums the values along their rows.
bool isSummed(mlir::OpOperand&);
/// Whether the use divides the weights by their sum, or multiplies them by its reciprocal.
bool normalizes(mlir::OpOperand&, mlir::Value weights);

/// Whether the results of an exponential, weights of a row, are only summed along the row, rounded to bf16, the operand
/// of a product, or divided by their sum: a factor that all weights of a row have then cancels, where their sum divides
/// the product.
bool areWeights(mlir::Operation& exponential);

}  // namespace smalti::cpu
