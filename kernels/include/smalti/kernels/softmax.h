// Softmax of rows, whole or split along the columns.
#pragma once

#include "smalti/pallas_call.h"

namespace smalti::kernels {

/// Blocks of kernels that work on rows. 0: chosen; a row that is split is read twice.
struct RowOptions {
  int64_t block_rows = 0, block_columns = 0;
};

/// exp(x - max) / sum along the last axis, computed in f32; any rank and sizes. A row of -inf gives NaN.
Array softmax(const Array& x, const RowOptions& options = {});
/// The call behind it, of [rows, columns].
PallasCall softmax_call(const ArrayType& x, const RowOptions& options = {});

}  // namespace smalti::kernels
