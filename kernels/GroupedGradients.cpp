// The gradient of grouped_matmul: https://arxiv.org/abs/2211.15841 calls its two products DSD with the transposed
// weights, and DDS, one product of rows per expert.
#include "smalti/kernels/blocks.h"
#include "smalti/kernels/gradients.h"
#include "smalti/smalti.h"

namespace smalti::kernels {

GroupedTiles group_tiles(int64_t rows, int64_t block_m, const Array& sizes) {
  const int64_t groups = sizes.dim(0);
  std::vector<int32_t> group, block, begin, end;
  int64_t row = 0;
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t to = row + sizes.as<int32_t>()[g], last = std::max(to - 1, row);
    for (int64_t b = row / block_m; b <= std::min(last, rows - 1) / block_m; ++b) {
      group.push_back(static_cast<int32_t>(g));
      block.push_back(static_cast<int32_t>(b));
      begin.push_back(static_cast<int32_t>(row));
      end.push_back(static_cast<int32_t>(to));
    }
    if (group.empty() || group.back() != g) {  // all rows are others'
      group.push_back(static_cast<int32_t>(g));
      block.push_back(0);
      begin.push_back(0);
      end.push_back(0);
    }
    row = to;
  }
  const auto count = static_cast<int32_t>(group.size());
  for (auto* v : {&group, &block, &begin, &end}) v->resize(static_cast<size_t>(cdiv(rows, block_m) + 2 * groups));
  return {unwrap(array(std::vector<int32_t>{count}).reshaped({})), array(group), array(block), array(begin),
          array(end)};
}

PallasCall grouped_matmul_backward_call(const ArrayType& x, const ArrayType& dz, int64_t groups,
                                        const GroupedTiles& tiles, int64_t bm, const GroupedMatmulOptions& o) {
  const int64_t k = x.shape[1], n = dz.shape[1];
  const int64_t bk = o.block_k ? o.block_k : block_along(k, 512), bn = o.block_n ? o.block_n : block_along(n, 512);
  auto kernel = [=](Ref group, Ref row_block, Ref row_begin, Ref row_end, Ref x, Ref dz, Ref dy, Ref acc) {
    const Array t = program_id(2);
    when(t == 0 || group[t] != group[maximum(t - 1, 0)], [&] { acc[_] = zeros_like(acc); });
    const Array first = row_block[t] * bm, begin = row_begin[t], end = row_end[t];
    const auto add = [&](const Array& x, const Array& dz) {
      acc[_] += dot_general(x, dz, {{0}, {0}}, {.preferred_element_type = f32});
    };
    const auto mine = [&](const Ref& rows) {
      const Array row = first + broadcasted_iota(i32, rows.shape(), 0);
      return astype(where(row >= begin && row < end, astype(rows[_], f32), 0), rows.dtype());
    };
    const Array whole = begin <= first && end >= first + bm;
    when(whole, [&] { add(x[_], dz[_]); });
    when(!whole, [&] { add(mine(x), mine(dz)); });
    dy[_] = astype(acc[_], dy.dtype());  // the group's last tile leaves the whole sum
  };
  return pallas_call(kernel, {.out_shape = ShapeDtype{{groups, k, n}, x.dtype},
                              .grid = {cdiv(k, bk), cdiv(n, bn), tiles.count},
                              .in_specs = {BlockSpec{{bm, bk},
                                                     [](auto i, auto, auto t, auto, auto block, auto, auto) {
                                                       return std::tuple{block[t], i};
                                                     }},
                                           BlockSpec{{bm, bn},
                                                     [](auto, auto j, auto t, auto, auto block, auto, auto) {
                                                       return std::tuple{block[t], j};
                                                     }}},
                              .out_specs = {BlockSpec{{squeezed, bk, bn},
                                                      [](auto i, auto j, auto t, auto group, auto, auto, auto) {
                                                        return std::tuple{group[t], i, j};
                                                      }}},
                              .scratch_shapes = {vmem({bk, bn}, f32)},
                              .num_scalar_prefetch = 4,
                              .name = "grouped_matmul_backward",
                              .compiler_params = {.dimension_semantics = {parallel, parallel, arbitrary}}});
}

Array grouped_matmul_with_gradient(const Array& x, const Array& y, const Array& sizes, const GroupedMatmulOptions& o) {
  const auto f = [=](const Array& x, const Array& y) { return grouped_matmul(x, y, sizes, o); };
  return custom_vjp(
      f, [=](const Array& x, const Array& y) { return std::pair{f(x, y), std::pair{x, y}}; },
      [=](const std::pair<Array, Array>& xy, const Array& dz) {
        const auto& [x, y] = xy;
        const int64_t bm = grouped_block_m(x.dim(0), o);
        const GroupedTiles t = group_tiles(x.dim(0), bm, sizes);
        const Array dy = grouped_matmul_backward_call(x.type(), dz.type(), y.dim(0), t, bm, o)(
            t.group, t.row_block, t.row_begin, t.row_end, x, dz);
        // What is contracted is n, and k is what the product has: their blocks change places.
        const GroupedMatmulOptions turned{
            .block_m = o.block_m, .block_n = o.block_k, .block_k = o.block_n, .transpose_y = !o.transpose_y};
        return std::pair{grouped_matmul(dz, y, sizes, turned), o.transpose_y ? Array(swapaxes(dy, 1, 2)) : dy};
      })(x, y);
}

}  // namespace smalti::kernels
