// The computed rows that masks keep: masks that select rows by numbers known only at run time.
//
//   %row = tpu.iota {dimensions = [0]} : vector<32x128xi32>          32 rows are 8 groups of 4
//   %group = %row / 4
//   %mask = %group >= %begin && %group < %end                        %begin, %end: i32
//   %s = tpu.matmul %q, %k                                           needed: groups [%begin, %end) of 8
//   tpu.vector_store %ref, f(%s) masked %mask                        f: computes rows from rows
//
//   %x = vector.load %ref : vector<128x128xbf16>
//   %k = select(%row < %count, %x, 0)                                rows of memory, all of them from %count = 128 on
#pragma once

#include <cstdint>
#include <optional>

#include "mlir/IR/Operation.h"

namespace smalti::cpu {

/// A value's elements, in row-major order, are divided into `groups` equal parts; this selects the parts [begin, end).
/// The bounds are i32 scalars, and may be outside of 0 … groups.
struct RowGroups {
  mlir::Value begin, end;
  int64_t groups = 1;
  bool operator==(const RowGroups&) const = default;
};

/// The groups that a mask selects, if it selects whole groups; else nullopt.
std::optional<RowGroups> groupsOfMask(mlir::Value mask);
/// The groups of a value that are used; nullopt: possibly all of its elements.
std::optional<RowGroups> neededRowGroups(mlir::Value);

/// A value whose first `count` rows (an i32 scalar, which may be more) are those of `load`, whose memory nothing writes
/// until the value has been used for the last time.
struct LoadedRows {
  mlir::Operation* load = nullptr;
  mlir::Value count;
  int64_t rows = 0;  ///< number of rows of the value
};
/// nullopt: the value is not of this form.
std::optional<LoadedRows> loadedRows(mlir::Value);

}  // namespace smalti::cpu
