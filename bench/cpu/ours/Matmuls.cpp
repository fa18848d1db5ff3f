#include "ours/Ours.h"
#include "smalti/kernels/grouped_matmul.h"
#include "smalti/kernels/matmul.h"

namespace smalti::bench {
namespace {

Work matmul(const Spec& s) {
  const DType dtype = dtypeOf(s);
  const int64_t n = s["n"], m = s.at("m", n), k = s.at("k", n);
  const Array x = operand({m, k}, dtype, 1), y = operand({k, n}, dtype, 2);
  const kernels::MatmulOptions options{
      .out_dtype = dtype == i8 ? i32 : f32, .block_m = s["bm"], .block_n = s["bn"], .block_k = s["bk"]};
  const PallasCall call = kernels::matmul_call(x.type(), y.type(), options);
  return work([=] { return Array(call(x, y)); });
}

/// `steps` products of two blocks, accumulated in a window that stays: the inner step of a matmul without the cost of a
/// call. One step is one unit of work.
Work block(const Spec& s) {
  const int64_t n = s["n"], steps = s.at("steps", 64);
  const Array x = operand({n, n}, f32, 1), y = operand({n, n}, f32, 2);
  const BlockSpec whole{{n, n}, [](auto) { return std::tuple{0, 0}; }};
  const PallasCall call = pallas_call(
      [](Ref x, Ref y, Ref o) {
        when(program_id(0) == 0, [&] { o[_] = zeros_like(o); });
        o[_] += dot(x[_], y[_]);
      },
      {.out_shape = ShapeDtype{{n, n}, f32}, .grid = {steps}, .in_specs = {whole, whole}, .out_specs = {whole}});
  Work w = work([=] { return Array(call(x, y)); });
  w.amount = 2. * static_cast<double>(n * n * n * steps);
  w.probe = [] { return std::vector<double>(); };  // the peers' sums keep growing
  return w;
}

/// A whole product by blocks of a given size, out of matrices with long rows.
Work blocks(const Spec& s) {
  Spec sized = s;
  for (const char* axis : {"bm", "bn", "bk"}) sized.values[axis] = s.text("block");
  return matmul(sized);
}

/// Rows in groups, each times its own matrix. The tiles that the sizes make are computed beforehand, as a model does
/// once for all its layers.
Work grouped(const Spec& s) {
  const std::vector<int32_t> sizes = s.numbers("sizes");
  int64_t rows = 0;
  for (int32_t size : sizes) rows += size;
  const int64_t k = s["k"], n = s["n"];
  const Array x = operand({rows, k}, f32, 1), y = operand({static_cast<int64_t>(sizes.size()), k, n}, f32, 2);
  const kernels::GroupedMatmulOptions options{.block_m = s["bm"], .block_n = s["bn"], .block_k = s["bk"]};
  const int64_t bm = kernels::grouped_block_m(rows, options);
  const kernels::GroupedTiles tiles = kernels::grouped_tiles(rows, bm, array(sizes));
  const PallasCall call = kernels::grouped_matmul_call(x.type(), y.type(), tiles, bm, options);
  return work([=] { return Array(call(tiles.group, tiles.row_block, tiles.row_begin, tiles.row_end, x, y)); });
}

}  // namespace

std::map<std::string, Maker> matmuls() {
  return {{"matmul", matmul}, {"block", block}, {"blocks", blocks}, {"grouped", grouped}};
}

}  // namespace smalti::bench
