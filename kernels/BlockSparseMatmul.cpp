#include "smalti/kernels/block_sparse_matmul.h"

#include "CallCache.h"
#include "smalti/kernels/blocks.h"
#include "smalti/smalti.h"

namespace smalti::kernels {

PallasCall block_sparse_matmul_call(const ArrayType& blocks, int64_t rows, const ArrayType& y,
                                    const BlockSparseOptions& o) {
  if (blocks.shape.size() != 3 || y.shape.size() != 2 || blocks.shape[0] == 0 || y.shape[0] % blocks.shape[2] != 0)
    raise({.code = "SM6701",
           .message = "block_sparse_matmul takes blocks [count, height, width] and a matrix of as many rows as blocks "
                      "cover",
           .place = {},
           .need = "one block at least, and rows of the matrix that the block width divides",
           .have = blocks.str() + " and " + y.str(),
           .help = "pad the matrix, or cut smaller blocks"});
  const int64_t count = blocks.shape[0], bm = blocks.shape[1], bk = blocks.shape[2], n = y.shape[1];
  const int64_t bn = o.block_n ? o.block_n : block_along(n, 512);

  auto kernel = [=](Ref row, Ref, Ref x, Ref y, Ref, Ref o, Ref acc) {
    const Array b = program_id(1);
    const Array is_first = b == 0 || row[b] != row[maximum(b - 1, 0)];
    const Array is_last = b == count - 1 || row[b] != row[minimum(b + 1, count - 1)];
    when(is_first, [&] { acc[_] = zeros_like(acc); });
    acc[_] += dot(x[_], y[_], {.preferred_element_type = f32});
    when(is_last, [&] { o[_] = astype(acc[_], o.dtype()); });
  };
  auto out_block = [](auto j, auto b, auto row, auto) { return std::tuple{row[b], j}; };
  return pallas_call(
      kernel,
      {.out_shape = ShapeDtype{{rows, n}, y.dtype},
       .grid = {cdiv(n, bn), count},
       .in_specs = {BlockSpec{{squeezed, bm, bk}, [](auto, auto b, auto, auto) { return std::tuple{b, 0, 0}; }},
                    BlockSpec{{bk, bn}, [](auto j, auto b, auto, auto column) { return std::tuple{column[b], j}; }},
                    BlockSpec{{bm, bn}, out_block}},
       .out_specs = {BlockSpec{{bm, bn}, out_block}},
       .scratch_shapes = {vmem({bm, bn}, f32)},
       .num_scalar_prefetch = 2,
       .input_output_aliases = {{4, 0}},
       .name = "block_sparse_matmul",
       .compiler_params = {.dimension_semantics = {parallel, arbitrary}}});
}

Array block_sparse_matmul(const BlockSparse& x, const Array& y, const BlockSparseOptions& o) {
  static constinit CallCache cache;
  const Array zero = zeros({x.rows, y.dim(1)}, y.dtype());
  const std::string key = (Key() << x.blocks.type() << y.type() << x.rows << o.block_n).str();
  const PallasCall call =
      cache.get(key, [&] { return block_sparse_matmul_call(x.blocks.type(), x.rows, y.type(), o); });
  return call(x.block_rows, x.block_columns, x.blocks, y, zero);
}

}  // namespace smalti::kernels
