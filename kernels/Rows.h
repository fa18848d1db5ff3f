// Shared by kernels on rows: how [rows, columns] is divided, and the grid for rows that are read twice.
#pragma once

#include <functional>

#include "Reshaped.h"
#include "smalti/kernels/blocks.h"
#include "smalti/kernels/softmax.h"
#include "smalti/smalti.h"

namespace smalti::kernels {

struct Rows {
  int64_t rows, columns, block_rows, block_columns;

  Rows(const ArrayType& x, const RowOptions& o) {
    columns = x.shape.empty() ? 1 : x.shape.back();
    rows = columns == 0 ? 0 : x.elements() / columns;
    block_columns = o.block_columns ? o.block_columns : block_along(columns, kMaxColumns);
    block_rows =
        o.block_rows
            ? o.block_rows
            : block_along(rows, std::max<int64_t>(kBlockElements / align_to(block_columns, 128), 8) / 8 * 8, 8);
  }
  bool split() const { return block_columns < columns; }
  int64_t column_steps() const { return cdiv(columns, block_columns); }

  /// Grid (rows, pass, columns) when rows are split, else (rows).
  std::vector<GridDim> grid() const {
    if (!split()) return {cdiv(rows, block_rows)};
    return {cdiv(rows, block_rows), 2, column_steps()};
  }
  std::vector<DimensionSemantics> semantics() const {
    if (!split()) return {parallel};
    return {parallel, arbitrary, arbitrary};
  }
  BlockSpec input() const {
    if (!split()) return BlockSpec{{block_rows, columns}, [](auto i) { return std::tuple{i, 0}; }};
    return BlockSpec{{block_rows, block_columns}, [](auto i, auto, auto j) { return std::tuple{i, j}; }};
  }
  /// Stays on its first block during pass 0, so that nothing is written before pass 1.
  BlockSpec output() const {
    if (!split()) return input();
    return BlockSpec{{block_rows, block_columns}, [](auto i, auto pass, auto j) { return std::tuple{i, pass * j}; }};
  }
  /// A vector along the columns, [1, columns].
  BlockSpec weight() const {
    if (!split()) return BlockSpec{{1, columns}, [](auto) { return std::tuple{0, 0}; }};
    return BlockSpec{{1, block_columns}, [](auto, auto pass, auto j) { return std::tuple{0, pass * j}; }};
  }
  /// Which columns of this step's block there are; the last block may be partial.
  Array inside(const Shape& shape) const {
    return program_id(2) * block_columns + broadcasted_iota(i32, shape, 1) < columns;
  }
  bool hangs_over() const { return columns % block_columns != 0; }

 private:
  static constexpr int64_t kMaxColumns = 16384, kBlockElements = 256 * 1024;
};

/// Runs `call` on x as [rows, columns] and gives the result x's shape.
inline Array callOnRows(const PallasCall& call, const Array& x, const Rows& rows, std::vector<Operand> more = {}) {
  std::vector<Operand> operands{reshaped(x, {rows.rows, rows.columns})};
  for (const Operand& w : more) operands.emplace_back(reshaped(w.array(), {1, rows.columns}));
  return reshaped(call.run(operands), x.shape());
}

}  // namespace smalti::kernels
