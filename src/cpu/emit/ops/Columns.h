// Vector loops over rows of memory, for ops that nests cannot compute.
#pragma once

#include <functional>

#include "cpu/emit/NativeLowering.h"

namespace smalti::cpu {

/// Columns [start, start + lanes) of a row of n; `mask`: the lanes inside the row; null: all are.
using ColumnBody = std::function<void(Reg start, int lanes, Reg mask)>;
void forColumns(NativeLowering&, int64_t n, int lanes, const ColumnBody&);

/// A shape as (outer, n, inner): n is the size of dimension `d`, outer and inner are the products of the sizes before
/// and after it.
struct Split {
  int64_t outer = 1, n = 1, inner = 1;
  Split(std::span<const int64_t> shape, size_t d);
};

/// The value as a dense view.
View denseView(NativeLowering&, mlir::Value);
/// Address of element `at`, counted row-major, of a dense view.
Reg elementAt(NativeLowering&, const View&, Reg at);

/// Copies the elements if the two views are contiguous along different dimensions; otherwise, or if there are few
/// elements, does nothing and returns false.
bool copyTransposed(NativeLowering&, const View& from, const View& to);

}  // namespace smalti::cpu
