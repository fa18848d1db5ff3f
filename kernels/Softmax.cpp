#include "smalti/kernels/softmax.h"

#include <limits>

#include "CallCache.h"
#include "Rows.h"

namespace smalti::kernels {

PallasCall softmax_call(const ArrayType& x, const RowOptions& o) {
  const Rows r(x, o);
  Call call{.out_shape = ShapeDtype{{r.rows, r.columns}, x.dtype},
            .grid = r.grid(),
            .in_specs = {r.input()},
            .out_specs = {r.output()},
            .name = "softmax",
            .compiler_params = {.dimension_semantics = r.semantics()}};

  auto whole = [](Ref x, Ref o) {
    const Array v = astype(x[_], f32);
    const Array e = exp(v - max(v, {.axes = {1}, .keepdims = true}));
    o[_] = astype(e / sum(e, {.axes = {1}, .keepdims = true}), o.dtype());
  };
  if (!r.split()) return pallas_call(whole, std::move(call));

  // Pass 0 finds the largest element and the sum of each row, rescaling the sum when the largest grows.
  auto split = [r](Ref x, Ref o, Ref largest, Ref total) {
    constexpr float lowest = -std::numeric_limits<float>::infinity();
    Array v = astype(x[_], f32);
    if (r.hangs_over()) v = where(r.inside(x.shape()), v, lowest);
    when(program_id(1) == 0 && program_id(2) == 0, [&] {
      largest[_] = full(largest.shape(), std::numeric_limits<float>::lowest());
      total[_] = zeros_like(total);
    });
    when(program_id(1) == 0, [&] {
      const Array before = largest[_], now = maximum(before, max(v, {.axes = {1}, .keepdims = true}));
      total[_] = total[_] * exp(before - now) + sum(exp(v - now), {.axes = {1}, .keepdims = true});
      largest[_] = now;
    });
    when(program_id(1) == 1, [&] { o[_] = astype(exp(v - largest[_]) / total[_], o.dtype()); });
  };
  call.scratch_shapes = {vmem({r.block_rows, 1}, f32), vmem({r.block_rows, 1}, f32)};
  return pallas_call(split, std::move(call));
}

Array softmax(const Array& x, const RowOptions& o) {
  static constinit CallCache cache;
  const Rows rows(x.type(), o);
  const ArrayType type{x.dtype(), {rows.rows, rows.columns}};
  const std::string key = (Key() << type << o.block_rows << o.block_columns).str();
  return callOnRows(cache.get(key, [&] { return softmax_call(type, o); }), x, rows);
}

}  // namespace smalti::kernels
