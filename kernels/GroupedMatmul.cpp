#include "smalti/kernels/grouped_matmul.h"

#include "ChosenBlocks.h"
#include "smalti/kernels/blocks.h"
#include "smalti/smalti.h"

namespace smalti::kernels {
namespace {

/// Rows that are computed together where a block is not one group's: a multiple of every dtype's tiles.
constexpr int64_t kSlab = 32;
/// Blocks of x and y, each twice, may take this much of a TPU's VMEM.
constexpr int64_t kBlockBytes = 12 << 20;

/// All of k where the blocks are small enough: then nothing is added up between steps.
int64_t blockK(const ArrayType& x, int64_t k, int64_t rowsAndColumns) {
  return 2 * rowsAndColumns * k * storage_bytes(x.dtype) <= kBlockBytes ? k : block_along(k, 512);
}

[[noreturn]] void refuse(std::string need, std::string have) {
  raise({.code = "SM6701",
         .message = "grouped_matmul takes x [m, k], y [groups, k, n] and group sizes i32 [groups]",
         .place = {},
         .need = std::move(need),
         .have = std::move(have),
         .help = "sort the rows by group, and count those of each"});
}

}  // namespace

GroupedMatmulOptions chosen_blocks(const ArrayType& x, const ArrayType& y, const GroupedMatmulOptions& o) {
  const int64_t n = dim(y, o.transpose_y ? 1 : 2);
  const int64_t bm = grouped_block_m(dim(x, 0), o), bn = o.block_n ? o.block_n : block_along(n, 512);
  return {bm, bn, o.block_k ? o.block_k : blockK(x, dim(x, 1), bm + bn), o.transpose_y};
}

int64_t grouped_block_m(int64_t rows, const GroupedMatmulOptions& o) {
  return o.block_m ? o.block_m : block_along(rows, 64, 8);
}

GroupedTiles grouped_tiles(int64_t rows, int64_t block_m, const Array& sizes) {
  if (sizes.dtype() != i32 || sizes.rank() != 1) refuse("group sizes i32 [groups]", sizes.type().str());
  const int64_t groups = sizes.dim(0), row_blocks = cdiv(rows, block_m);
  std::vector<int32_t> group, block, begin, end;
  const auto add = [&](int64_t g, int64_t b, int64_t from, int64_t to) {
    group.push_back(static_cast<int32_t>(g));
    block.push_back(static_cast<int32_t>(b));
    begin.push_back(static_cast<int32_t>(from));
    end.push_back(static_cast<int32_t>(to));
  };
  int64_t row = 0;
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t size = sizes.as<int32_t>()[g], to = row + size;
    if (size < 0 || to > rows) refuse("sizes of at least 0, " + std::to_string(rows) + " in all", std::to_string(to));
    if (size > 0)
      for (int64_t b = row / block_m; b <= (to - 1) / block_m; ++b) add(g, b, row, to);
    row = to;
  }
  // Blocks of rows that no group reaches: written as zeros, by a tile without rows.
  for (int64_t b = cdiv(row, block_m); b < row_blocks; ++b) add(0, b, 0, 0);
  const auto count = static_cast<int32_t>(group.size());
  for (auto* v : {&group, &block, &begin, &end}) v->resize(row_blocks + groups);
  return {unwrap(array(std::vector<int32_t>{count}).reshaped({})), array(group), array(block), array(begin),
          array(end)};
}

PallasCall grouped_matmul_call(const ArrayType& x, const ArrayType& y, const GroupedTiles& tiles, int64_t bm,
                               const GroupedMatmulOptions& o) {
  const int64_t y_k = o.transpose_y ? 2 : 1, y_n = 3 - y_k;
  if (x.shape.size() != 2 || y.shape.size() != 3 || x.shape[1] != y.shape[y_k])
    refuse("equal sizes of k", x.str() + " and " + y.str());
  const int64_t m = x.shape[0], k = x.shape[1], n = y.shape[y_n];
  const GroupedMatmulOptions blocks = chosen_blocks(x, y, {bm, o.block_n, o.block_k, o.transpose_y});
  const int64_t bn = blocks.block_n, bk = blocks.block_k;
  const int64_t k_steps = std::max<int64_t>(cdiv(k, bk), 1);

  auto inside = [=](const Array& block, int64_t axis) -> Array {
    if (k % bk == 0) return block;
    const Array at = program_id(2) * bk + broadcasted_iota(i32, block.shape(), axis);
    return astype(where(at < k, astype(block, f32), 0), block.dtype());
  };
  const auto product = [=](const Array& x, const Array& y) {
    return dot_general(x, y, {{1}, {y_k - 1}}, {.preferred_element_type = f32});
  };
  auto kernel = [=](Ref, Ref row_block, Ref row_begin, Ref row_end, Ref x, Ref y, Ref o, Ref acc) {
    const Array t = program_id(1);
    when(program_id(2) == 0, [&] { acc[_] = zeros_like(acc); });
    acc[_] += product(inside(x[_], 1), inside(y[_], y_k - 1));
    when(program_id(2) == k_steps - 1, [&] {
      const Array first = row_block[t] * bm;
      const Array is_whole = row_begin[t] <= first && row_end[t] >= first + bm;
      when(is_whole, [&] { o[_] = astype(acc[_], o.dtype()); });
      when(!is_whole, [&] {
        // The block stays in VMEM while the groups that meet in it follow each other; each writes its own rows.
        when(t == 0 || row_block[t] != row_block[maximum(t - 1, 0)], [&] { o[_] = zeros_like(o); });
        const Array row = first + broadcasted_iota(i32, {bm, bn}, 0);
        const Array mine = row >= row_begin[t] && row < row_end[t];
        o[_] = astype(where(mine, acc[_], astype(o[_], f32)), o.dtype());
      });
    });
  };
  // With whole rows of x and columns of y there is nothing to add up, and of a block that groups share each visit
  // computes no more than the slabs its rows are in.
  const int64_t slab = bm % kSlab == 0 ? kSlab : bm;
  auto whole = [=](Ref, Ref row_block, Ref row_begin, Ref row_end, Ref x, Ref y, Ref o) {
    const Array t = program_id(1);
    const Array first = row_block[t] * bm, begin = row_begin[t] - first, end = row_end[t] - first;
    when(begin <= 0 && end >= bm, [&] { o[_] = astype(product(x[_], y[_]), o.dtype()); });
    when(begin > 0 || end < bm, [&] {
      when(t == 0 || row_block[t] != row_block[maximum(t - 1, 0)], [&] { o[_] = zeros_like(o); });
      loop(floor_divide(maximum(begin, 0), slab), floor_divide(minimum(end, bm) + (slab - 1), slab), [&](Array s) {
        const auto rows = ds(s * slab, slab);
        const Array row = s * slab + broadcasted_iota(i32, {slab, bn}, 0);
        const Array slice = product(x[{rows, _}], y[_]);
        o[{rows, _}] = astype(where(row >= begin && row < end, slice, astype(o[{rows, _}], f32)), o.dtype());
      });
    });
  };
  const BlockSpec y_spec =
      o.transpose_y
          ? BlockSpec{{squeezed, bn, bk},
                      [](auto j, auto t, auto k, auto group, auto, auto, auto) { return std::tuple{group[t], j, k}; }}
          : BlockSpec{{squeezed, bk, bn},
                      [](auto j, auto t, auto k, auto group, auto, auto, auto) { return std::tuple{group[t], k, j}; }};
  Call call{.out_shape = ShapeDtype{{m, n}, x.dtype},
            .grid = {cdiv(n, bn), tiles.count, k_steps},
            .in_specs = {BlockSpec{{bm, bk},
                                   [](auto, auto t, auto k, auto, auto block, auto, auto) {
                                     return std::tuple{block[t], k};
                                   }},
                         y_spec},
            .out_specs = {BlockSpec{
                {bm, bn}, [](auto j, auto t, auto, auto, auto block, auto, auto) { return std::tuple{block[t], j}; }}},
            .num_scalar_prefetch = 4,
            .name = "grouped_matmul",
            .compiler_params = {.dimension_semantics = {parallel, arbitrary, arbitrary}}};
  if (k_steps == 1) return pallas_call(whole, std::move(call));
  call.scratch_shapes = {vmem({bm, bn}, f32)};
  return pallas_call(kernel, std::move(call));
}

Array grouped_matmul(const Array& x, const Array& y, const Array& group_sizes, const GroupedMatmulOptions& o) {
  if (x.rank() != 2) refuse("x of rank 2", x.type().str());
  const int64_t bm = grouped_block_m(x.dim(0), o);
  const GroupedTiles t = grouped_tiles(x.dim(0), bm, group_sizes);
  return grouped_matmul_call(x.type(), y.type(), t, bm, o)(t.group, t.row_block, t.row_begin, t.row_end, x, y);
}

}  // namespace smalti::kernels
