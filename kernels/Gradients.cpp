#include "smalti/kernels/gradients.h"

#include <algorithm>

#include "CallCache.h"

namespace smalti::kernels {
namespace {

constexpr int64_t kBlockRows = 64;

Array rowSum(const Array& v) { return sum(v, {.axes = {1}, .keepdims = true}); }
Array columnSum(const Array& v) { return sum(v, {.axes = {0}, .keepdims = true}); }

/// A kernel over blocks of whole rows: x, scale and the cotangent in; that of x, and sums over all rows, out.
struct RowBlocks {
  int64_t rows, columns, block;

  explicit RowBlocks(const ArrayType& x)
      : rows(x.shape[0]), columns(x.shape[1]), block(std::min<int64_t>(rows, kBlockRows)) {}

  Call call(const char* name, const ArrayType& x, int sums) const {
    const BlockSpec some{{block, columns}, [](auto i) { return std::tuple{i, 0}; }};
    const BlockSpec all{{1, columns}, [](auto) { return std::tuple{0, 0}; }};
    Call call{.out_shape = ShapeDtype{{rows, columns}, x.dtype},
              .grid = {cdiv(rows, block)},
              .in_specs = {some, all, some},
              .out_specs = {some},
              .name = name,
              .compiler_params = {.dimension_semantics = {arbitrary}}};
    for (int i = 0; i < sums; ++i) {
      call.out_shape.push_back({{1, columns}, f32});
      call.out_specs.push_back(all);
    }
    return call;
  }
  /// Rows of a block past the last one are undefined: use zeros there.
  Array inside(const Array& v) const {
    if (rows % block == 0) return v;
    const Array row = broadcasted_iota(i32, v.shape(), 0) + program_id(0) * static_cast<int>(block);
    return where(row < static_cast<int>(rows), v, 0);
  }
  void add(const Ref& total, const Array& term) const {
    when(program_id(0) == 0, [&] { total[_] = zeros_like(total); });
    total[_] += columnSum(inside(term));
  }
};

Array asRow(const Array& a) { return reshape(astype(a, f32), {1, a.dim(0)}); }
Array asVector(const Array& a, DType t) { return astype(reshape(a, {a.dim(1)}), t); }

}  // namespace

Array matmul_with_gradient(const Array& x, const Array& y) {
  const auto f = [](const Array& x, const Array& y) { return matmul(x, y); };
  return custom_vjp(
      f, [=](const Array& x, const Array& y) { return std::pair{f(x, y), std::pair{x, y}}; },
      [](const std::pair<Array, Array>& xy, const Array& dz) {
        return std::pair{matmul(dz, xy.second, {.transpose_y = true}), matmul(xy.first, dz, {.transpose_x = true})};
      })(x, y);
}

PallasCall rms_norm_backward_call(const ArrayType& x, float epsilon) {
  const RowBlocks r(x);
  const float n = static_cast<float>(r.columns);
  auto kernel = [=](Ref x, Ref scale, Ref dy, Ref dx, Ref dscale) {
    const Array v = astype(x[_], f32), d = astype(dy[_], f32), slope = d * scale[_];
    const Array inverse = rsqrt(rowSum(v * v) / n + epsilon), normal = v * inverse;
    dx[_] = astype(inverse * (slope - normal * (rowSum(slope * normal) / n)), dx.dtype());
    r.add(dscale, d * normal);
  };
  return pallas_call(kernel, r.call("rms_norm_backward", x, 1));
}

Array rms_norm_with_gradient(const Array& x, const Array& scale, float epsilon) {
  const auto f = [=](const Array& x, const Array& scale) { return rms_norm(x, scale, {.epsilon = epsilon}); };
  return custom_vjp(
      f, [=](const Array& x, const Array& scale) { return std::pair{f(x, scale), std::pair{x, scale}}; },
      [=](const std::pair<Array, Array>& in, const Array& dy) {
        static constinit CallCache cache;
        const auto& [x, scale] = in;
        const PallasCall call = cache.get((Key() << x.type() << epsilon).str(),
                                          [&, &x = x] { return rms_norm_backward_call(x.type(), epsilon); });
        const Results made = call(x, asRow(scale), dy);
        return std::pair{made[0], asVector(made[1], scale.dtype())};
      })(x, scale);
}

PallasCall layer_norm_backward_call(const ArrayType& x, float epsilon) {
  const RowBlocks r(x);
  const float n = static_cast<float>(r.columns);
  auto kernel = [=](Ref x, Ref scale, Ref dy, Ref dx, Ref dscale, Ref dshift) {
    const Array v = astype(x[_], f32), d = astype(dy[_], f32), slope = d * scale[_];
    const Array centred = v - rowSum(v) / n, inverse = rsqrt(rowSum(centred * centred) / n + epsilon);
    const Array normal = centred * inverse;
    const Array mean = rowSum(slope) / n, along = rowSum(slope * normal) / n;
    dx[_] = astype(inverse * (slope - mean - normal * along), dx.dtype());
    r.add(dscale, d * normal);
    r.add(dshift, d);
  };
  return pallas_call(kernel, r.call("layer_norm_backward", x, 2));
}

Array layer_norm_with_gradient(const Array& x, const Array& scale, const Array& shift, float epsilon) {
  const auto f = [=](const Array& x, const Array& scale, const Array& shift) {
    return layer_norm(x, scale, shift, {.epsilon = epsilon});
  };
  return custom_vjp(
      f,
      [=](const Array& x, const Array& scale, const Array& shift) {
        return std::pair{f(x, scale, shift), std::pair{x, scale}};
      },
      [=](const std::pair<Array, Array>& in, const Array& dy) {
        static constinit CallCache cache;
        const auto& [x, scale] = in;
        const PallasCall call = cache.get((Key() << x.type() << epsilon).str(),
                                          [&, &x = x] { return layer_norm_backward_call(x.type(), epsilon); });
        const Results made = call(x, asRow(scale), dy);
        return std::tuple{made[0], asVector(made[1], scale.dtype()), asVector(made[2], scale.dtype())};
      })(x, scale, shift);
}

}  // namespace smalti::kernels
