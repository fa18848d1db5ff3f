// Rows in groups, each group times its own matrix (ragged product, mixture of experts).
#pragma once

#include <vector>

#include "smalti/pallas_call.h"

namespace smalti::kernels {

struct GroupedMatmulOptions {
  /// 0: chosen automatically.
  int64_t block_m = 0, block_n = 0, block_k = 0;
  /// y is [groups, n, k].
  bool transpose_y = false;
};

/// x: [m, k], its rows sorted by group; y: [groups, k, n]; group_sizes: i32 [groups], rows of each, at most m in all.
/// Row i of the result is x[i] @ y[group of i]; rows that no group has are 0.
Array grouped_matmul(const Array& x, const Array& y, const Array& group_sizes,
                     const GroupedMatmulOptions& options = {});

/// The work that group sizes make: one entry per pair of a group and a block of rows that meet, in order of rows.
struct GroupedTiles {
  /// The dynamic size of the grid axis: entries used.
  Array count;
  /// i32 [row blocks + groups], prefetched: group, row block, first row and end of the group's rows.
  Array group, row_block, row_begin, row_end;
};
GroupedTiles grouped_tiles(int64_t rows, int64_t block_m, const Array& group_sizes);
/// The call behind it; takes the four arrays of the tiles, x and y. Its grid has the size `tiles.count`.
PallasCall grouped_matmul_call(const ArrayType& x, const ArrayType& y, const GroupedTiles& tiles, int64_t block_m,
                               const GroupedMatmulOptions& options = {});
/// The block_m that an option of 0 chooses.
int64_t grouped_block_m(int64_t rows, const GroupedMatmulOptions& options);

}  // namespace smalti::kernels
