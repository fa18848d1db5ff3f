// Maps iterations of a nest to elements of a value: per dimension, a loop and an offset.
#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Operation.h"
#include "schedule/UnitDims.h"

namespace smalti::schedule {

struct MapEntry {
  static constexpr int kNone = -1;         ///< no loop: the offset alone
  static constexpr int kBufferedRow = -2;  ///< a row's number among the buffered rows (RowSchedule::bufferedRows)
  int loop = kNone;                        ///< rows are 0 … R-1, the column is R
  int64_t offset = 0;
  bool operator==(const MapEntry&) const = default;
};

/// `flat`: the value is treated as one dense row, and there is one entry.
struct ElementMap {
  llvm::SmallVector<MapEntry, 4> entries;
  bool flat = false;
  bool operator==(const ElementMap& o) const { return flat == o.flat && entries == o.entries; }
  bool usesColumn(int column) const {
    return llvm::any_of(entries, [&](const MapEntry& e) { return e.loop == column; });
  }
};

/// The map to element (rows…, column) of a value with the nest's rows.
ElementMap identityMap(std::span<const int64_t> shape, int numRows);
/// The map to element (rows…) of a value with one element per row.
ElementMap rowMap(std::span<const int64_t> shape);
/// The element of operand `number` that an element-wise or rematerializable op reads for element `map` of its result.
/// nullopt: it cannot be expressed as such a map.
std::optional<ElementMap> operandMap(mlir::Operation& op, unsigned number, const ElementMap& map);
/// The dimension that an iota counts along; -1 if there are several.
int iotaDimension(mlir::Operation&);

}  // namespace smalti::schedule
