// A block-sparse matrix times a dense one: the positions of the nonzero blocks are scalar-prefetch operands.
#pragma once

#include "smalti/pallas_call.h"

namespace smalti::kernels {

/// The nonzero blocks of a matrix, sorted by row, then by column.
struct BlockSparse {
  /// i32 [count]: block row and block column.
  Array block_rows, block_columns;
  /// [count, block height, block width].
  Array blocks;
  /// Rows of the whole matrix.
  int64_t rows = 0;
};

struct BlockSparseOptions {
  /// Columns of y per program; 0: chosen automatically.
  int64_t block_n = 0;
};

/// x @ y. Rows of blocks that x does not have are zeros.
Array block_sparse_matmul(const BlockSparse& x, const Array& y, const BlockSparseOptions& options = {});
/// The call behind it: block rows and columns (prefetched), blocks, y, and zeros that the result shares memory with.
PallasCall block_sparse_matmul_call(const ArrayType& blocks, int64_t rows, const ArrayType& y,
                                    const BlockSparseOptions& options = {});

}  // namespace smalti::kernels
