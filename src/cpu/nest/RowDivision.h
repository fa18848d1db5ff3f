// Rows that are divided by one value each, as softmax divides by a row's sum. A division of vectors takes many
// times as long as the few multiplications that give the same quotients from the divisor's reciprocal.
#pragma once

#include "cpu/emit/NativeLowering.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace smalti::cpu {

/// One value per row.
struct RowValue {
  mlir::Value value;
  ElementMap map;
  bool operator==(const RowValue&) const = default;
};

/// The row value of which all elements of the row are copies; nullopt if they differ.
std::optional<RowValue> rowValueOf(const Segment&, mlir::Value, ElementMap, int column);

/// Finds the divisors of rows in the ops that compute `value`. Values that `isMade` are not searched
/// further.
void findRowDivisors(const Segment&, mlir::Value value, const ElementMap&, int column,
                     llvm::function_ref<bool(mlir::Value)> isMade, llvm::SmallVectorImpl<RowValue>& found);

/// Whether a scalar f32 is positive, and neither it nor its reciprocal is 0, infinite, NaN or close to these.
Reg hasAccurateReciprocal(Builder&, Reg divisor);
/// x / divisor of vectors for such divisors. Correctly rounded; if x is so small that a residual is denormal, the last
/// bit may differ.
Reg quotientByInverse(Builder&, Reg x, Reg divisor, Reg inverse);

}  // namespace smalti::cpu
