#include "smalti/kernels/matmul.h"

#include "CallCache.h"
#include "Reshaped.h"
#include "smalti/kernels/blocks.h"
#include "smalti/smalti.h"

namespace smalti::kernels {
namespace {

struct Sizes {
  int64_t m, n, k, bm, bn, bk;
};

/// One block for a medium-sized axis rather than a partial last block, which would be masked in every step.
int64_t depthAlong(int64_t k) {
  constexpr int64_t kWanted = 512, kMaxWhole = 1024;
  const int64_t block = block_along(k, kWanted);
  return k % block != 0 && k <= kMaxWhole ? k : block;
}

Sizes sizesOf(const ArrayType& x, const ArrayType& y, const MatmulOptions& o) {
  if (x.shape.size() != 2 || y.shape.size() != 2)
    raise({.code = "SM6701",
           .message = "matmul takes matrices",
           .place = {},
           .need = "operands of rank 2",
           .have = x.str() + " and " + y.str(),
           .help = "reshape leading axes into rows"});
  Sizes s{};
  s.m = x.shape[o.transpose_x ? 1 : 0], s.k = x.shape[o.transpose_x ? 0 : 1], s.n = y.shape[o.transpose_y ? 0 : 1];
  const int64_t rows = y.shape[o.transpose_y ? 1 : 0];
  if (rows != s.k)
    raise({.code = "SM6701",
           .message = "the contracting axes of matmul's operands have different sizes",
           .place = {},
           .need = std::to_string(s.k) + " rows in the right operand",
           .have = std::to_string(rows),
           .help = "set transpose_x or transpose_y if a matrix is stored transposed"});
  s.bm = o.block_m ? o.block_m : block_along(s.m, 512);
  s.bn = o.block_n ? o.block_n : block_along(s.n, 512);
  s.bk = o.block_k ? o.block_k : depthAlong(s.k);
  return s;
}

}  // namespace

PallasCall matmul_call(const ArrayType& x, const ArrayType& y, const MatmulOptions& o) {
  const auto [m, n, k, bm, bn, bk] = sizesOf(x, y, o);
  const DType wide = is_float(x.dtype) ? f32 : i32;
  const int64_t k_steps = std::max<int64_t>(cdiv(k, bk), 1);

  // The last block of k is partial if bk does not divide k: elements past the end are not zero.
  auto inside = [k = k, bk = bk, wide](const Array& block, int64_t axis) -> Array {
    if (k % bk == 0) return block;
    const Array at = program_id(2) * bk + broadcasted_iota(i32, block.shape(), axis);
    return astype(where(at < k, astype(block, wide), 0), block.dtype());
  };
  const int64_t x_k = o.transpose_x ? 0 : 1, y_k = o.transpose_y ? 1 : 0;
  auto body = [=, activation = o.activation](const Ref& x, const Ref& y, const Ref* bias, const Ref& z,
                                             const Ref& acc) {
    when(program_id(2) == 0, [&] { acc[_] = zeros_like(acc); });
    acc[_] += dot_general(inside(x[_], x_k), inside(y[_], y_k), {{x_k}, {y_k}}, {.preferred_element_type = wide});
    when(program_id(2) == k_steps - 1, [&] {
      Array block = acc[_];
      if (bias) block = block + (*bias)[_];
      z[_] = astype(activation(block), z.dtype());
    });
  };

  const BlockSpec x_spec = o.transpose_x ? BlockSpec{{bk, bm}, [](auto i, auto, auto k) { return std::tuple{k, i}; }}
                                         : BlockSpec{{bm, bk}, [](auto i, auto, auto k) { return std::tuple{i, k}; }};
  const BlockSpec y_spec = o.transpose_y ? BlockSpec{{bn, bk}, [](auto, auto j, auto k) { return std::tuple{j, k}; }}
                                         : BlockSpec{{bk, bn}, [](auto, auto j, auto k) { return std::tuple{k, j}; }};
  Call call{.out_shape = ShapeDtype{{m, n}, o.out_dtype.value_or(is_float(x.dtype) ? x.dtype : i32)},
            .grid = {cdiv(m, bm), cdiv(n, bn), k_steps},
            .in_specs = {x_spec, y_spec},
            .out_specs = {BlockSpec{{bm, bn}, [](auto i, auto j, auto) { return std::tuple{i, j}; }}},
            .scratch_shapes = {vmem({bm, bn}, wide)},
            .name = "matmul",
            .compiler_params = {.dimension_semantics = {parallel, parallel, arbitrary}}};
  if (!o.bias)
    return pallas_call([body](Ref x, Ref y, Ref z, Ref acc) { body(x, y, nullptr, z, acc); }, std::move(call));
  call.in_specs.push_back(BlockSpec{{1, bn}, [](auto, auto j, auto) { return std::tuple{0, j}; }});
  return pallas_call([body](Ref x, Ref y, Ref b, Ref z, Ref acc) { body(x, y, &b, z, acc); }, std::move(call));
}

Array matmul(const Array& x, const Array& y, const MatmulOptions& o) {
  static constinit CallCache cache;
  std::string key;
  if (!o.activation.key().empty())
    key = (Key() << x.type() << y.type() << o.transpose_x << o.transpose_y << o.bias.has_value()
                 << (o.bias ? o.bias->dtype() : pred) << o.activation.key() << o.out_dtype.value_or(pred) << o.block_m
                 << o.block_n << o.block_k)
              .str();
  const PallasCall call = cache.get(key, [&] { return matmul_call(x.type(), y.type(), o); });
  if (!o.bias) return call(x, y);
  return call(x, y, reshaped(*o.bias, {1, o.bias->elements()}));
}

}  // namespace smalti::kernels
