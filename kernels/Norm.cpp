#include "smalti/kernels/norm.h"

#include "CallCache.h"
#include "Rows.h"

namespace smalti::kernels {
namespace {

Array rowSum(const Array& v) { return sum(v, {.axes = {1}, .keepdims = true}); }

Call normCall(const char* name, const ArrayType& x, const Rows& r, int weights) {
  Call call{.out_shape = ShapeDtype{{r.rows, r.columns}, x.dtype},
            .grid = r.grid(),
            .in_specs = {r.input()},
            .out_specs = {r.output()},
            .name = name,
            .compiler_params = {.dimension_semantics = r.semantics()}};
  call.in_specs.insert(call.in_specs.end(), weights, r.weight());
  return call;
}

/// Pass 0 adds this block's sums to scratch, with zeros past the end of the row.
void accumulate(const Rows& r, const Array& v, std::initializer_list<std::pair<Ref, Array>> sums) {
  when(program_id(1) == 0 && program_id(2) == 0, [&] {
    for (const auto& [total, term] : sums) total[_] = zeros_like(total);
  });
  when(program_id(1) == 0, [&] {
    for (const auto& [total, term] : sums)
      total[_] += rowSum(r.hangs_over() ? where(r.inside(v.shape()), term, 0) : term);
  });
}

}  // namespace

PallasCall layer_norm_call(const ArrayType& x, const NormOptions& o) {
  const Rows r(x, o);
  const float n = static_cast<float>(r.columns), epsilon = o.epsilon;
  Call call = normCall("layer_norm", x, r, 2);

  auto whole = [=](Ref x, Ref scale, Ref shift, Ref o) {
    const Array v = astype(x[_], f32), centred = v - rowSum(v) / n;
    const Array variance = rowSum(centred * centred) / n;
    o[_] = astype(centred * rsqrt(variance + epsilon) * scale[_] + shift[_], o.dtype());
  };
  if (!r.split()) return pallas_call(whole, std::move(call));

  // The sums are taken about the row's first element: about 0, rows far from it would lose their variance.
  auto split = [=](Ref x, Ref scale, Ref shift, Ref o, Ref about, Ref total, Ref squares) {
    const Array v = astype(x[_], f32);
    when(program_id(1) == 0 && program_id(2) == 0, [&] { about[_] = astype(x[{all_of, ds(0, 1)}], f32); });
    const Array d = v - about[_];
    accumulate(r, v, {{total, d}, {squares, d * d}});
    when(program_id(1) == 1, [&] {
      const Array mean = total[_] / n, variance = maximum(squares[_] / n - mean * mean, 0);
      o[_] = astype((d - mean) * rsqrt(variance + epsilon) * scale[_] + shift[_], o.dtype());
    });
  };
  call.scratch_shapes.assign(3, vmem({r.block_rows, 1}, f32));
  return pallas_call(split, std::move(call));
}

PallasCall rms_norm_call(const ArrayType& x, const NormOptions& o) {
  const Rows r(x, o);
  const float n = static_cast<float>(r.columns), epsilon = o.epsilon;
  Call call = normCall("rms_norm", x, r, 1);

  auto whole = [=](Ref x, Ref scale, Ref o) {
    const Array v = astype(x[_], f32);
    o[_] = astype(v * rsqrt(rowSum(v * v) / n + epsilon) * scale[_], o.dtype());
  };
  if (!r.split()) return pallas_call(whole, std::move(call));

  auto split = [=](Ref x, Ref scale, Ref o, Ref squares) {
    const Array v = astype(x[_], f32);
    accumulate(r, v, {{squares, v * v}});
    when(program_id(1) == 1, [&] { o[_] = astype(v * rsqrt(squares[_] / n + epsilon) * scale[_], o.dtype()); });
  };
  call.scratch_shapes = {vmem({r.block_rows, 1}, f32)};
  return pallas_call(split, std::move(call));
}

namespace {

template <class Make>
PallasCall cached(CallCache& cache, const ArrayType& type, const NormOptions& o, Make&& make) {
  const std::string key = (Key() << type << o.block_rows << o.block_columns << o.epsilon).str();
  return cache.get(key, [&] { return make(type, o); });
}

}  // namespace

Array layer_norm(const Array& x, const Array& scale, const Array& shift, const NormOptions& o) {
  static constinit CallCache cache;
  const Rows r(x.type(), o);
  return callOnRows(cached(cache, {x.dtype(), {r.rows, r.columns}}, o, layer_norm_call), x, r, {scale, shift});
}

Array rms_norm(const Array& x, const Array& scale, const NormOptions& o) {
  static constinit CallCache cache;
  const Rows r(x.type(), o);
  return callOnRows(cached(cache, {x.dtype(), {r.rows, r.columns}}, o, rms_norm_call), x, r, {scale});
}

}  // namespace smalti::kernels
