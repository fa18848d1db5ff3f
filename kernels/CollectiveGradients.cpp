#include "smalti/kernels/collective_gradients.h"

#include <cmath>

#include "Ring.h"
#include "smalti/collectives.h"

namespace smalti::kernels {
namespace {

/// A function that is linear in its one argument, and its transposition.
template <class F, class Transposed>
Array linear(const Array& x, const F& f, const Transposed& transposed) {
  return custom_vjp(
      f, [f](const Array& x) { return std::pair{f(x), std::tuple<>{}}; },
      [transposed](std::tuple<>, const Array& ct) { return transposed(ct); })(x);
}

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

/// To the neighbour `by` places to the right.
Pairs aroundBy(int64_t by, int64_t devices) {
  Pairs pairs;
  for (int64_t i = 0; i < devices; ++i) pairs.emplace_back(i, (i + by + devices) % devices);
  return pairs;
}

/// A product in f32, as x has it.
Array product(const Array& x, const Array& y, DotDimensionNumbers axes) {
  return astype(dot_general(x, y, std::move(axes), {.preferred_element_type = f32, .precision = Precision::highest}),
                x.dtype());
}

}  // namespace

Array right_permute_with_gradient(const Array& x, const std::string& axis, const CollectiveOptions& o) {
  return linear(
      x, [=](const Array& x) { return right_permute(x, axis, o); },
      [=](const Array& ct) { return ppermute(ct, axis, aroundBy(-1, devicesAlong(axis))); });
}

Array all_gather_rows_with_gradient(const Array& x, const std::string& axis, GatherPath path,
                                    const CollectiveOptions& o) {
  return linear(
      x, [=](const Array& x) { return all_gather_rows(x, axis, path, o); },
      [=](const Array& ct) { return reduce_scatter_rows(ct, axis, o); });
}

Array reduce_scatter_rows_with_gradient(const Array& x, const std::string& axis, const CollectiveOptions& o) {
  return linear(
      x, [=](const Array& x) { return reduce_scatter_rows(x, axis, o); },
      [=](const Array& ct) { return all_gather_rows(ct, axis, GatherPath::ring, o); });
}

Array all_reduce_rows_with_gradient(const Array& x, const std::string& axis, const CollectiveOptions& o) {
  const auto f = [=](const Array& x) { return all_reduce_rows(x, axis, o); };
  return linear(x, f, f);
}

Array all_to_all_parts_with_gradient(const Array& x, const std::string& axis, const CollectiveOptions& o) {
  const auto f = [=](const Array& x) { return all_to_all_parts(x, axis, o); };
  return linear(x, f, f);
}

Array all_gather_matmul_with_gradient(const Array& x, const Array& w, const std::string& axis,
                                      const CollectiveOptions& o) {
  const auto f = [=](const Array& x, const Array& w) { return all_gather_matmul(x, w, axis, o); };
  return custom_vjp(
      f, [=](const Array& x, const Array& w) { return std::pair{f(x, w), std::pair{x, w}}; },
      [=](const std::pair<Array, Array>& in, const Array& ct) {
        const auto& [x, w] = in;
        return std::pair{matmul_reduce_scatter(ct, transpose(w), axis, o),
                         product(all_gather_rows(x, axis, GatherPath::ring, o), ct, {{0}, {0}})};
      })(x, w);
}

Array matmul_reduce_scatter_with_gradient(const Array& x, const Array& w, const std::string& axis,
                                          const CollectiveOptions& o) {
  const auto f = [=](const Array& x, const Array& w) { return matmul_reduce_scatter(x, w, axis, o); };
  return custom_vjp(
      f, [=](const Array& x, const Array& w) { return std::pair{f(x, w), std::pair{x, w}}; },
      [=](const std::pair<Array, Array>& in, const Array& ct) {
        const auto& [x, w] = in;
        return std::pair{all_gather_matmul(ct, transpose(w), axis, o),
                         product(x, all_gather_rows(ct, axis, GatherPath::ring, o), {{0}, {0}})};
      })(x, w);
}

namespace {

/// The backward pass of ring_attention on one device.
struct RingBackward {
  RingBackward(const Array& q, std::string axisName, const RingAttentionOptions& o)
      : axis(std::move(axisName)),
        devices(devicesAlong(axis)),
        length(q.dim(1)),
        scale(o.scale != 0 ? o.scale : 1 / std::sqrt(static_cast<float>(q.dim(2)))),
        causal(o.causal) {}

  std::string axis;
  int64_t devices, length;
  float scale;
  bool causal;

  Array onwards(const Array& x) const { return ppermute(x, axis, aroundBy(1, devices)); }
  static Array dotHeads(const Array& x, const Array& y, int64_t lhs, int64_t rhs) {
    return dot_general(x, y, {{lhs}, {rhs}, {0}, {0}}, {.preferred_element_type = f32});
  }
  /// f32[heads, length, length]; what a query does not see is far below all else.
  Array scores(const Array& q, const Array& k, int64_t step) const {
    const Array s = dotHeads(q, k, 2, 2) * scale;
    if (!causal) return s;
    const Shape square{length, length};
    const Array me = axis_index(axis),
                from = rem(me + static_cast<int32_t>(devices - step), static_cast<int32_t>(devices));
    const Array behind = broadcasted_iota(i32, square, 0) - broadcasted_iota(i32, square, 1) +
                         (me - from) * static_cast<int32_t>(length);
    return where(behind >= 0, s, -1e30f);
  }

  using Three = std::tuple<Array, Array, Array>;
  Three operator()(const Three& qkv, const Array& result, const Array& ct) const {
    const Array q = astype(std::get<0>(qkv), f32), d = astype(ct, f32);
    const Array k0 = astype(std::get<1>(qkv), f32), v0 = astype(std::get<2>(qkv), f32);
    const Axes last{.axes = {2}, .keepdims = true};
    Array k = k0, most = full({q.dim(0), length, 1}, -1e30f, f32), total = zeros(most.shape());
    for (int64_t step = 0; step < devices; ++step) {
      const Array s = scores(q, k, step), now = maximum(most, max(s, last));
      total = total * exp(most - now) + sum(exp(s - now), last);
      most = now;
      if (step + 1 < devices) k = onwards(k);
    }
    const Array delta = sum(d * astype(result, f32), last);
    k = k0;
    Array v = v0, dq = zeros_like(q), dk = zeros_like(k), dv = zeros_like(v);
    for (int64_t step = 0; step < devices; ++step) {
      const Array p = exp(scores(q, k, step) - most) / total;
      const Array ds = p * (dotHeads(d, v, 2, 2) - delta) * scale;
      dq = dq + dotHeads(ds, k, 2, 1);
      dk = onwards(dk + dotHeads(ds, q, 1, 1));
      dv = onwards(dv + dotHeads(p, d, 1, 1));
      if (step + 1 < devices) k = onwards(k), v = onwards(v);
    }
    const DType t = result.dtype();
    return {astype(dq, t), astype(dk, t), astype(dv, t)};
  }
};

}  // namespace

Array ring_attention_with_gradient(const Array& q, const Array& k, const Array& v, const std::string& axis,
                                   const RingAttentionOptions& o) {
  using Three = RingBackward::Three;
  const auto f = [=](const Array& q, const Array& k, const Array& v) { return ring_attention(q, k, v, axis, o); };
  return custom_vjp(
      f,
      [=](const Array& q, const Array& k, const Array& v) {
        const Array result = f(q, k, v);
        return std::pair{result, std::pair{Three{q, k, v}, result}};
      },
      [=](const std::pair<Three, Array>& kept, const Array& ct) {
        return RingBackward(std::get<0>(kept.first), axis, o)(kept.first, kept.second, ct);
      })(q, k, v);
}

}  // namespace smalti::kernels
