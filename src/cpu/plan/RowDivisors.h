// Rows that are divided by one value each, as softmax divides by a row's sum. A division of vectors takes many times as
// long as the few multiplications that give the same quotients from the divisor's reciprocal.
#pragma once

#include <optional>

#include "llvm/ADT/STLFunctionalExtras.h"
#include "schedule/ElementMap.h"
#include "schedule/Segment.h"

namespace smalti::cpu {

/// One value per row.
struct RowValue {
  mlir::Value value;
  schedule::ElementMap map;
  bool operator==(const RowValue&) const = default;
};

/// The row value of which all elements of the row are copies; nullopt if they differ.
std::optional<RowValue> rowValueOf(const schedule::Segment&, mlir::Value, schedule::ElementMap, int column);

/// Finds the divisors of rows in the ops that compute `value`. Values that `isMade` are not searched further.
void findRowDivisors(const schedule::Segment&, mlir::Value value, const schedule::ElementMap&, int column,
                     llvm::function_ref<bool(mlir::Value)> isMade, llvm::SmallVectorImpl<RowValue>& found);

}  // namespace smalti::cpu
