// Which element of a value an iteration of a nest needs: per dimension, a loop and an offset.
#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Operation.h"
#include "schedule/UnitDims.h"

namespace smalti::schedule {

struct MapEntry {
  static constexpr int kNone = -1;         ///< no loop: the offset alone
  static constexpr int kBufferedRow = -2;  ///< a row's number among those that are kept (NestPlan::bufferedRows)
  int loop = kNone;                        ///< rows are 0 … R-1, the column is R
  int64_t offset = 0;
  bool operator==(const MapEntry&) const = default;
};

/// `flat`: the value is taken as one dense row; then there is one entry.
struct ElementMap {
  llvm::SmallVector<MapEntry, 4> entries;
  bool flat = false;
  bool operator==(const ElementMap& o) const { return flat == o.flat && entries == o.entries; }
  bool usesColumn(int column) const {
    return llvm::any_of(entries, [&](const MapEntry& e) { return e.loop == column; });
  }
};

/// Element (rows…, column) of a value whose rows are the nest's.
ElementMap identityMap(std::span<const int64_t> shape, int numRows);
/// Element (rows…) of a value that has one element per row.
ElementMap rowMap(std::span<const int64_t> shape);
/// Which element of operand `number` the op reads for the element `map` of its result (element-wise and free ops).
/// nullopt where that is no such map.
std::optional<ElementMap> operandMap(mlir::Operation& op, unsigned number, const ElementMap& map);
/// The dimension an iota counts along, -1 when it is not a single one.
int iotaDimension(mlir::Operation&);

}  // namespace smalti::schedule
