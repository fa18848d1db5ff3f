#include "Cases.h"
#include "smalti/kernels/block_sparse_matmul.h"
#include "smalti/kernels/grouped_matmul.h"

namespace smalti::kernels::test {
namespace {

void addBlockSparse(Cases& cases, const std::string& name, DType dtype, int64_t bm, int64_t bk, int64_t block_rows,
                    int64_t block_columns, int64_t n, int64_t bn) {
  std::vector<int32_t> rows, columns;
  for (int32_t i = 0; i < block_rows; ++i)
    for (int32_t k = 0; k < block_columns; ++k)
      if (i != 1 && (i * 7 + k * 5) % 3 == 0) rows.push_back(i), columns.push_back(k);
  const BlockSparse x{array(rows), array(columns), cases.random(dtype, {static_cast<int64_t>(rows.size()), bm, bk}),
                      block_rows * bm};
  const Array y = cases.random(dtype, {block_columns * bk, n});
  cases.add({"block_sparse_matmul_" + name,
             "block_sparse_matmul",
             {{"rows", x.rows}},
             {x.block_rows, x.block_columns, x.blocks, y},
             [=] { return block_sparse_matmul(x, y, {.block_n = bn}); },
             block_sparse_matmul_call(x.blocks.type(), x.rows, y.type(), {.block_n = bn}),
             {x.block_rows, x.block_columns, x.blocks, y, zeros({x.rows, n}, dtype)}});
}

void addGrouped(Cases& cases, const std::string& name, DType dtype, int64_t m, int64_t k, int64_t n,
                std::vector<int32_t> sizes, GroupedMatmulOptions o, bool exportable = true) {
  const auto groups = static_cast<int64_t>(sizes.size());
  const Array x = cases.random(dtype, {m, k}), group_sizes = array(sizes),
              y = cases.random(dtype, o.transpose_y ? Shape{groups, n, k} : Shape{groups, k, n});
  const int64_t bm = grouped_block_m(m, o);
  const GroupedTiles t = grouped_tiles(m, bm, group_sizes);
  cases.add({"grouped_matmul_" + name,
             "grouped_matmul",
             o.transpose_y ? nlohmann::json{{"transpose_y", true}} : nlohmann::json::object(),
             {x, y, group_sizes},
             [=] { return grouped_matmul(x, y, group_sizes, o); },
             grouped_matmul_call(x.type(), y.type(), t, bm, o),
             {t.group, t.row_block, t.row_begin, t.row_end, x, y},
             exportable,
             {t.count}});
}

}  // namespace

void sparseCases(Cases& cases) {
  addBlockSparse(cases, "f32", f32, 128, 128, 4, 5, 256, 128);
  addBlockSparse(cases, "bf16", bf16, 128, 128, 3, 4, 128, 0);
  addBlockSparse(cases, "narrow", f32, 8, 128, 5, 3, 200, 128);
  addGrouped(cases, "f32", f32, 256, 256, 256, {100, 0, 28, 128}, {.block_m = 64, .block_n = 128, .block_k = 128});
  addGrouped(cases, "bf16", bf16, 128, 128, 128, {5, 60, 63}, {.block_m = 32});
  addGrouped(cases, "remainders", f32, 150, 200, 140, {20, 33, 50}, {.block_m = 64, .block_n = 128, .block_k = 128});
  addGrouped(cases, "transposed", f32, 64, 256, 128, {20, 0, 44}, {.block_m = 32, .block_k = 128, .transpose_y = true});
  addGrouped(cases, "transposed_whole", bf16, 64, 128, 256, {33, 31}, {.block_m = 32, .transpose_y = true});
  addGrouped(cases, "empty", f32, 40, 128, 128, {0, 0}, {.block_m = 8});
  addGrouped(cases, "odd_blocks", f32, 23, 9, 11, {3, 9, 1, 10}, {.block_m = 5, .block_n = 4, .block_k = 2}, false);
}

}  // namespace smalti::kernels::test
