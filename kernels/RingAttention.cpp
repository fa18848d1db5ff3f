#include "smalti/kernels/ring_attention.h"

#include <cmath>

#include "CallCache.h"
#include "Ring.h"

namespace smalti::kernels {
namespace {

/// Less than any score, and finite: differences of two of them are 0, not NaN.
constexpr float kMasked = -1e30f;

}  // namespace

PallasCall ring_attention_call(const ArrayType& q, const std::string& axis, const RingAttentionOptions& o) {
  if (q.shape.size() != 3 || !is_float(q.dtype))
    raise({.code = "SM6701",
           .message = "ring_attention takes floats [heads, length, depth]",
           .place = {},
           .need = "three axes",
           .have = q.str(),
           .help = "reshape q, k and v; vmap adds batches"});
  const int64_t heads = q.shape[0], length = q.shape[1], depth = q.shape[2];
  const float scale = o.scale != 0 ? o.scale : 1 / std::sqrt(static_cast<float>(depth));
  const bool causal = o.causal;
  auto kernel = [=](Ref q, Ref k, Ref v, Ref o, Ref kv, Ref send, Ref receive, Ref capacity, Ref most, Ref total,
                    Ref sum) {
    const Ring ring(axis);
    ring.barrierWithNeighbours();
    kv[{0, 0}] = k[_];
    kv[{0, 1}] = v[_];
    most[_] = full_like(most, kMasked);
    total[_] = zeros_like(total);
    sum[_] = zeros_like(sum);
    RingRotation{kv, send, receive, capacity}.run(ring, [&](const Ref& part, int64_t step) {
      const Array first = (ring.me - ring.before(static_cast<int32_t>(step))) * static_cast<int32_t>(length);
      loop(0, heads, [&](const Array& h) {
        const DotDimensionNumbers onDepth{.lhs_contracting = {1}, .rhs_contracting = {1}};
        const DotOptions exact{.preferred_element_type = f32, .precision = Precision::highest};
        Array scores = dot_general(q[h], part[{0, h}], onDepth, exact) * scale;
        if (causal) {  // how far a query is behind a key
          const Shape square{length, length};
          const Array behind = broadcasted_iota(i32, square, 0) - broadcasted_iota(i32, square, 1) + first;
          scores = where(behind >= 0, scores, kMasked);
        }
        const Array before = most[h], now = maximum(before, max(scores, {.axes = {1}, .keepdims = true}));
        const Array weights = exp(scores - now), kept = exp(before - now);
        most[h] = now;
        total[h] = total[h] * kept + smalti::sum(weights, {.axes = {1}, .keepdims = true});
        sum[h] = sum[h] * kept + dot(astype(weights, part.dtype()), part[{1, h}], exact);
      });
    });
    o[_] = astype(sum[_] / total[_], o.dtype());
  };
  std::vector<MemoryRef> scratch = RingRotation::scratch({q.dtype, {2, heads, length, depth}});
  scratch.push_back(vmem({heads, length, 1}, f32));
  scratch.push_back(vmem({heads, length, 1}, f32));
  scratch.push_back(vmem({heads, length, depth}, f32));
  return pallas_call(kernel, {.out_shape = ShapeDtype{q.shape, q.dtype},
                              .scratch_shapes = scratch,
                              .name = "ring_attention",
                              .compiler_params = {.collective_id = o.collective_id}});
}

Array ring_attention(const Array& q, const Array& k, const Array& v, const std::string& axis,
                     const RingAttentionOptions& o) {
  if (k.type() != q.type() || v.type() != q.type())
    raise({.code = "SM6701",
           .message = "ring_attention takes q, k and v of one type",
           .place = {},
           .need = q.type().str(),
           .have = k.type().str() + " and " + v.type().str(),
           .help = "repeat shared key heads; pad the sequence"});
  static constinit CallCache cache;
  const std::string key =
      (Key() << q.type() << axis << devicesAlong(axis) << o.scale << o.causal << o.collective_id).str();
  return cache.get(key, [&] { return ring_attention_call(q.type(), axis, o); })(q, k, v);
}

}  // namespace smalti::kernels
