// Rows that are divided by a value of their own, as softmax divides by a row's sum: a division of vectors takes many
// times as long as the few multiplications that give the same quotients, once the divisor's inverse is known.
#pragma once

#include "cpu/emit/Lowering.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace smalti::cpu {

/// One value per row.
struct RowValue {
  mlir::Value value;
  ElementMap map;
  bool operator==(const RowValue&) const = default;
};

/// What all of the row's elements of a value are copies of; nullopt when they differ.
std::optional<RowValue> rowValueOf(const Segment&, mlir::Value, ElementMap, int column);

/// What the elements of rows are divided by in ops that make `value`. Values of which `isMade` are looked at no
/// further.
void findRowDivisors(const Segment&, mlir::Value value, const ElementMap&, int column,
                     llvm::function_ref<bool(mlir::Value)> isMade, llvm::SmallVectorImpl<RowValue>& found);

/// For a scalar f32: it is positive, and neither it nor its inverse is 0, infinite, NaN or near to that.
Reg hasUsefulInverse(Builder&, Reg divisor);
/// x / divisor for such divisors, of vectors. Correctly rounded; where x is so small that a rest is denormal, the last
/// bit may differ.
Reg quotientByInverse(Builder&, Reg x, Reg divisor, Reg inverse);

}  // namespace smalti::cpu
