// The backward kernels of flash_attention: https://arxiv.org/abs/2205.14135, algorithm 4, with the loops of
// https://arxiv.org/abs/2307.08691: no program writes what another one writes.
#include <cmath>

#include "AttentionWeights.h"
#include "CallCache.h"
#include "smalti/kernels/blocks.h"
#include "smalti/kernels/gradients.h"
#include "smalti/smalti.h"

namespace smalti::kernels {
namespace {

/// Sizes, and what one block of queries against one of keys needs.
struct Backward {
  int64_t batch, heads, queries, size, key_heads, keys, group, bq, bk;
  float scale;
  bool causal;

  Backward(const ArrayType& q, const ArrayType& k, const AttentionOptions& o)
      : batch(q.shape[0]),
        heads(q.shape[1]),
        queries(q.shape[2]),
        size(q.shape[3]),
        key_heads(k.shape[1]),
        keys(k.shape[2]),
        group(heads / key_heads),
        bq(o.block_q ? o.block_q : block_along(queries, 256)),
        bk(o.block_k ? o.block_k : block_along(keys, 256)),
        scale(o.scale.value_or(1 / std::sqrt(static_cast<float>(size)))),
        causal(o.causal) {}

  /// Elements of a block past the last one along the axis are undefined: use zeros there.
  static Array inside(const Array& x, const Array& block, int64_t size, int64_t of, int axis = 0) {
    if (of % size == 0) return x;
    const Array at = block * size + broadcasted_iota(i32, x.shape(), axis);
    return astype(where(at < of, astype(x, f32), 0), x.dtype());
  }
  Array queriesOf(const Ref& x, const Array& i) const { return inside(x[_], i, bq, queries); }
  Array keysOf(const Ref& x, const Array& j) const { return inside(x[_], j, bk, keys); }

  /// f32: softmax(scores), and the cotangent of the scores. A row belongs to a query, or to a key: the product with
  /// the weights then has them as its left operand, not transposed.
  struct Weights {
    Array p, ds;
  };
  Weights weights(const Array& q, const Array& k, const Array& v, const Array& d, const Array& log_sums,
                  const Array& delta, const Array& i, const Array& j, bool rows_are_keys) const {
    const int query_axis = rows_are_keys ? 1 : 0;
    const auto product = [&](const Array& of_queries, const Array& of_keys) {
      return dot_general(rows_are_keys ? of_keys : of_queries, rows_are_keys ? of_queries : of_keys, {{1}, {1}},
                         {.preferred_element_type = f32});
    };
    Array s = product(q, k) * (scale * kLog2E);
    const Array query = i * bq + broadcasted_iota(i32, s.shape(), query_axis),
                key = j * bk + broadcasted_iota(i32, s.shape(), 1 - query_axis);
    if (causal) s = where(key <= query, s, kMasked);
    if (keys % bk) s = where(key < keys, s, kMasked);
    if (queries % bq) s = where(query < queries, s, kMasked);
    const Array under = s - inside(log_sums, i, bq, queries, query_axis);
    const bool masks = causal || keys % bk != 0 || queries % bq != 0;  // what is masked weighs 0
    const Array p = weights_of(under, masks);
    const Array dp = product(d, v);
    return {p, p * (dp - inside(delta, i, bq, queries, query_axis))};
  }
  /// Whether a query of block i sees a key of block j.
  void whenSeen(const Array& i, const Array& j, const std::function<void()>& body) const {
    if (causal)
      when(j * bk <= i * bq + (bq - 1), body);
    else
      body();
  }
  /// `sums`: the blocks of log_sums and delta.
  Call call(const char* name, std::vector<GridDim> grid, const IndexMap& query, const IndexMap& key,
            const BlockSpec& sums) const {
    const std::vector<BlockDim> rows{squeezed, squeezed, bq, size}, columns{squeezed, squeezed, bk, size};
    return {.grid = std::move(grid),
            .in_specs = {{rows, query}, {columns, key}, {columns, key}, {rows, query}, sums, sums},
            .name = name,
            .compiler_params = {.dimension_semantics = {parallel, parallel, parallel, arbitrary}}};
  }
};

}  // namespace

PallasCall flash_attention_backward_queries_call(const ArrayType& q, const ArrayType& k, const AttentionOptions& o) {
  const Backward b(q, k, o);
  const int64_t steps = cdiv(b.keys, b.bk);
  auto kernel = [=](Ref q, Ref k, Ref v, Ref d, Ref log_sums, Ref delta, Ref dq, Ref acc) {
    const Array i = program_id(2), j = program_id(3);
    when(j == 0, [&] { acc[_] = zeros_like(acc); });
    b.whenSeen(i, j, [&] {
      const Array keys = b.keysOf(k, j);
      const auto w = b.weights(q[_], keys, v[_], d[_], log_sums[_], delta[_], i, j, false);
      // In a partial block, weight 0 times an element past the end may be NaN.
      const Array ds = b.keys % b.bk || b.queries % b.bq ? where(w.p == 0, 0, w.ds) : w.ds;
      acc[_] += dot(astype(ds, keys.dtype()), keys, {.preferred_element_type = f32});
    });
    when(j == steps - 1, [&] { dq[_] = astype(acc[_] * b.scale, dq.dtype()); });
  };
  const IndexMap query = [](auto b, auto h, auto i, auto) { return std::tuple{b, h, i, 0}; };
  Call call = b.call("flash_attention_backward_queries", {b.batch, b.heads, cdiv(b.queries, b.bq), steps}, query,
                     [=](auto n, auto h, auto i, auto j) {
                       const Array last = div(i * b.bq + (b.bq - 1), b.bk);
                       return std::tuple{n, div(h, b.group), b.causal ? minimum(j, last) : Array(j), 0};
                     },
                     {{squeezed, squeezed, b.bq, 1}, query});
  call.out_shape = ShapeDtype{q.shape, q.dtype};
  call.out_specs = {{{squeezed, squeezed, b.bq, b.size}, query}};
  call.scratch_shapes = {vmem({b.bq, b.size}, f32)};
  return pallas_call(kernel, std::move(call));
}

PallasCall flash_attention_backward_keys_call(const ArrayType& q, const ArrayType& k, const AttentionOptions& o) {
  const Backward b(q, k, o);
  const int64_t blocks = cdiv(b.queries, b.bq), steps = blocks * b.group;
  auto kernel = [=](Ref q, Ref k, Ref v, Ref d, Ref log_sums, Ref delta, Ref dk, Ref dv, Ref dk_acc, Ref dv_acc) {
    const Array j = program_id(2), t = program_id(3), i = rem(t, blocks);
    when(t == 0, [&] {
      dk_acc[_] = zeros_like(dk_acc);
      dv_acc[_] = zeros_like(dv_acc);
    });
    b.whenSeen(i, j, [&] {
      const Array queries = b.queriesOf(q, i), cotangent = b.queriesOf(d, i);
      const auto w = b.weights(queries, k[_], v[_], cotangent, log_sums[_], delta[_], i, j, true);
      const auto add = [&](const Ref& acc, const Array& weights, const Array& rows) {
        acc[_] += dot(astype(weights, rows.dtype()), rows, {.preferred_element_type = f32});
      };
      add(dv_acc, w.p, cotangent);
      add(dk_acc, w.ds, queries);
    });
    when(t == steps - 1, [&] {
      dk[_] = astype(dk_acc[_] * b.scale, dk.dtype());
      dv[_] = astype(dv_acc[_], dv.dtype());
    });
  };
  const IndexMap key = [](auto n, auto h, auto j, auto) { return std::tuple{n, h, j, 0}; };
  Call call = b.call(
      "flash_attention_backward_keys", {b.batch, b.key_heads, cdiv(b.keys, b.bk), steps},
      [=](auto n, auto h, auto, auto t) { return std::tuple{n, h * b.group + div(t, blocks), rem(t, blocks), 0}; }, key,
      {{squeezed, squeezed, 1, b.bq},
       [=](auto n, auto h, auto, auto t) { return std::tuple{n, h * b.group + div(t, blocks), 0, rem(t, blocks)}; }});
  const BlockSpec block{{squeezed, squeezed, b.bk, b.size}, key};
  call.out_shape = {ShapeDtype{k.shape, k.dtype}, ShapeDtype{k.shape, k.dtype}};
  call.out_specs = {block, block};
  call.scratch_shapes = {vmem({b.bk, b.size}, f32), vmem({b.bk, b.size}, f32)};
  return pallas_call(kernel, std::move(call));
}

Array flash_attention_with_gradient(const Array& q, const Array& k, const Array& v, const AttentionOptions& options) {
  if (options.bias || options.query_segments)
    raise({.code = "SM6701",
           .message = "flash_attention_with_gradient takes no bias and no segments",
           .place = {},
           .need = "causal or full attention",
           .have = options.bias ? "a bias" : "segments",
           .help = "differentiate flash_attention itself: reverse mode goes through its kernel"});
  // Without queries or keys no program writes what the others' cotangents are: they are zero, as the result is.
  if (q.elements() == 0 || k.elements() == 0) return zeros_like(q);
  AttentionOptions o = options;
  o.log_sums = false;
  const auto cached = [o](const char* what, const ArrayType& q, const ArrayType& k, auto make) {
    static constinit CallCache cache;
    Key key;
    key << what << q << k << o.causal << o.scale.value_or(0) << o.scale.has_value() << o.block_q << o.block_k;
    return cache.get(key.str(), make);
  };
  using Three = std::tuple<Array, Array, Array>;
  const auto forward = [=](const Array& q, const Array& k, const Array& v) {
    const PallasCall call = cached("forward", q.type(), k.type(), [&] {
      AttentionOptions with = o;
      with.log_sums = true;
      return flash_attention_call(q.type(), k.type(), with);
    });
    const Results r = call(q, k, v);
    return std::pair{Array(r[0]), std::pair{Three{q, k, v}, std::pair{Array(r[0]), Array(r[1])}}};
  };
  const auto backward = [=](const std::pair<Three, std::pair<Array, Array>>& kept, const Array& d) {
    const auto& [q, k, v] = kept.first;
    const auto& [result, log_sums] = kept.second;
    const Array delta = sum(astype(d, f32) * astype(result, f32), {.axes = {3}, .keepdims = true});
    const ArrayType qt = q.type(), kt = k.type();
    const Array dq = cached("queries", qt, kt, [&] { return flash_attention_backward_queries_call(qt, kt, o); })(
        q, k, v, d, log_sums, delta);
    const Shape row{q.dim(0), q.dim(1), 1, q.dim(2)};
    const Results dkv = cached("keys", qt, kt, [&] { return flash_attention_backward_keys_call(qt, kt, o); })(
        q, k, v, d, reshape(log_sums, row), reshape(delta, row));
    return Three{dq, dkv[0], dkv[1]};
  };
  return custom_vjp([=](const Array& q, const Array& k, const Array& v) { return flash_attention(q, k, v, o); },
                    forward, backward)(q, k, v);
}

}  // namespace smalti::kernels
