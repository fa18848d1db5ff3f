#include "smalti/kernels/flash_attention.h"

#include <cmath>
#include <limits>

#include "AttentionWeights.h"
#include "CallCache.h"
#include "ChosenBlocks.h"
#include "Reshaped.h"
#include "smalti/kernels/blocks.h"
#include "smalti/smalti.h"

namespace smalti::kernels {
namespace {

constexpr float kLowest = std::numeric_limits<float>::lowest();
/// Rows of the smallest block on the diagonal that is cut into parts. Chosen, not measured.
constexpr int64_t kLeastCut = 256;

void check(const ArrayType& q, const ArrayType& k, const AttentionOptions& o) {
  const bool fits = q.shape.size() == 4 && k.shape.size() == 4 && q.shape[0] == k.shape[0] &&
                    q.shape[3] == k.shape[3] && k.shape[1] > 0 && q.shape[1] % k.shape[1] == 0 &&
                    o.query_segments.has_value() == o.key_segments.has_value();
  if (!fits)
    raise({.code = "SM6701",
           .message = "flash_attention takes q [batch, heads, queries, size] and k, v [batch, key heads, keys, size]",
           .place = {},
           .need = "equal batch and size, key heads that divide the heads, segments for both or none",
           .have = q.str() + " and " + k.str(),
           .help = "transpose the arrays, or repeat key heads"});
}

/// 0 for a row without keys, whose weights are all 0.
Array log_sum(const Array& m, const Array& total) {
  return where(total == 0, 0, m + log(where(total == 0, 1, total)) * kLog2E);
}

}  // namespace

AttentionBlocks chosen_blocks(const ArrayType& q, const ArrayType& k, const AttentionOptions& o) {
  const int64_t queries = dim(q, 2), keys = dim(k, 2);
  // With few queries the time goes into reading keys: in long stretches.
  const int64_t usual_k = o.causal ? 256 : queries <= 8 && dim(q, 3) <= 256 ? 2048 : 512;
  return {o.block_q ? o.block_q : block_along(queries, 256), o.block_k ? o.block_k : block_along(keys, usual_k)};
}

PallasCall flash_attention_call(const ArrayType& q, const ArrayType& k, const AttentionOptions& o) {
  check(q, k, o);
  const int64_t batch = q.shape[0], heads = q.shape[1], queries = q.shape[2], size = q.shape[3];
  const int64_t group = heads / k.shape[1], keys = k.shape[2];
  const AttentionBlocks blocks = chosen_blocks(q, k, o);
  const int64_t bq = blocks.block_q, bk = blocks.block_k;
  const int64_t k_steps = std::max<int64_t>(cdiv(keys, bk), 1);
  const float scale = o.scale.value_or(1 / std::sqrt(static_cast<float>(size)));
  // Powers of 2 are cheaper than of e. With f32 queries the whole factor goes into them, once per block.
  const float to_base2 = kLog2E;
  const bool causal = o.causal, has_bias = o.bias.has_value(), has_segments = o.query_segments.has_value();
  const bool has_sums = o.log_sums;
  const bool scales_queries = q.dtype == f32 && !has_bias;

  // A square block on the diagonal is cut into up to four parts: rows against the keys up to their last one.
  const int64_t part_rows = std::max<int64_t>(64, bq / 4);
  const bool cuts = causal && bq == bk && bq >= kLeastCut && keys % bk == 0 && bq % part_rows == 0;
  const int64_t parts = cuts ? bq / part_rows : 1;

  const bool whole = k_steps == 1;  // all keys at once: nothing to carry from step to step

  auto kernel = [=](const std::vector<Ref>& refs) {
    auto next = refs.begin();
    const Ref q = *next++, k = *next++, v = *next++;
    const Ref bias = has_bias ? *next++ : Ref();
    const Ref q_segments = has_segments ? *next++ : Ref(), k_segments = has_segments ? *next++ : Ref();
    const Ref o = *next++, log_sums = has_sums ? *next++ : Ref();
    const Ref m = whole ? Ref() : *next++, l = whole ? Ref() : *next++, acc = whole ? Ref() : *next++;
    const Ref scaled_q = scales_queries && !whole ? *next++ : q;
    const Array i = program_id(2), j = program_id(3);

    if (!whole)
      when(j == 0, [&] {
        m[_] = full_like(m, kLowest);
        l[_] = zeros_like(l);
        acc[_] = zeros_like(acc);
        if (scales_queries) scaled_q[_] = q[_] * (scale * to_base2);
      });

    // Rows [first, first + rows) of the block against its first `columns` keys.
    auto step = [&](int64_t first, int64_t rows, int64_t columns, bool crosses_diagonal) {
      const Slice here = ds(first, rows), there = ds(0, columns);
      Array queries = scaled_q[{here, all_of}];
      if (scales_queries && whole) queries = queries * (scale * to_base2);
      Array s = dot_general(queries, k[{there, all_of}], {{1}, {1}}, {.preferred_element_type = f32});
      if (has_bias)
        s = (s * scale + astype(bias[{here, there}], f32)) * to_base2;
      else if (!scales_queries)
        s = s * (scale * to_base2);
      const bool masks = has_bias || has_segments || crosses_diagonal || keys % bk != 0;  // what is masked weighs 0
      if (has_segments) s = where(q_segments[{here, all_of}] == k_segments[{all_of, there}], s, kMasked);
      const Array row = i * bq + first + broadcasted_iota(i32, {rows, columns}, 0),
                  col = j * bk + broadcasted_iota(i32, {rows, columns}, 1);
      if (crosses_diagonal) s = where(col <= row, s, kMasked);
      Array values = v[{there, all_of}];
      if (keys % bk) {  // the last block is partial: elements past the end are not zero
        s = where(col < keys, s, kMasked);
        const Array at = j * bk + broadcasted_iota(i32, {columns, size}, 0);
        values = astype(where(at < keys, astype(values, f32), 0), v.dtype());
      }

      const Array m_prev = whole ? full({rows, 1}, kLowest) : m[{here, all_of}];
      const Array m_next = maximum(m_prev, max(s, {.axes = {1}, .keepdims = true})), under = s - m_next;
      const Array p = weights_of(under, masks);
      const Array total = sum(p, {.axes = {1}, .keepdims = true});
      const Array product = dot(astype(p, v.dtype()), values, {.preferred_element_type = f32});
      if (whole) {
        o[{here, all_of}] = astype(product / where(total == 0, 1, total), o.dtype());
        if (has_sums) log_sums[{here, all_of}] = log_sum(m_next, total);
        return;
      }
      const Array risen = m_prev - m_next,
                  alpha = where(risen < kNegligible, 0, exp2(where(risen < kNegligible, 0, risen)));
      m[{here, all_of}] = m_next;
      l[{here, all_of}] = l[{here, all_of}] * alpha + total;
      acc[{here, all_of}] = acc[{here, all_of}] * alpha + product;
    };
    if (causal) {
      const Array below = j * bk + (bk - 1) <= i * bq;
      when(below, [&] { step(0, bq, bk, false); });
      when(logical_and(logical_not(below), j * bk <= i * bq + (bq - 1)), [&] {
        for (int64_t part = 0; part < parts; ++part)
          step(part * (bq / parts), bq / parts, (part + 1) * (bk / parts), true);
      });
    } else {
      step(0, bq, bk, false);
    }

    if (!whole)
      when(j == k_steps - 1, [&] {
        o[_] = astype(acc[_] / where(l[_] == 0, 1, l[_]), o.dtype());
        if (has_sums) log_sums[_] = log_sum(m[_], l[_]);
      });
  };

  // Above the diagonal a causal program stays on its current block, to avoid useless fetches.
  auto key_step = [=](const Array& i, const Array& j) -> Array {
    return causal ? minimum(j, div(i * bq + (bq - 1), bk)) : j;
  };
  const BlockSpec q_spec{{squeezed, squeezed, bq, size},
                         [](auto b, auto h, auto i, auto) { return std::tuple{b, h, i, 0}; }};
  const BlockSpec k_spec{{squeezed, squeezed, bk, size}, [=](auto b, auto h, auto i, auto j) {
                           return std::tuple{b, div(h, group), key_step(i, j), 0};
                         }};
  Call call{.out_shape = ShapeDtype{q.shape, q.dtype},
            .grid = {batch, heads, cdiv(queries, bq), k_steps},
            .in_specs = {q_spec, k_spec, k_spec},
            .out_specs = {q_spec},
            .name = "flash_attention",
            .compiler_params = {.dimension_semantics = {parallel, parallel, parallel, arbitrary}}};
  if (has_sums) {
    call.out_shape.push_back({{batch, heads, queries, 1}, f32});
    call.out_specs.push_back(
        {{squeezed, squeezed, bq, 1}, [](auto b, auto h, auto i, auto) { return std::tuple{b, h, i, 0}; }});
  }
  if (!whole) {
    call.scratch_shapes = {vmem({bq, 1}, f32), vmem({bq, 1}, f32), vmem({bq, size}, f32)};
    if (scales_queries) call.scratch_shapes.push_back(vmem({bq, size}, f32));
  }
  if (has_bias) {
    const int64_t every_batch = o.bias->dim(0) > 1, every_head = o.bias->dim(1) > 1;
    call.in_specs.push_back({{squeezed, squeezed, bq, bk}, [=](auto b, auto h, auto i, auto j) {
                               return std::tuple{b * every_batch, h * every_head, i, key_step(i, j)};
                             }});
  }
  if (has_segments) {
    call.in_specs.push_back({{squeezed, bq, 1}, [](auto b, auto, auto i, auto) { return std::tuple{b, i, 0}; }});
    call.in_specs.push_back(
        {{squeezed, 1, bk}, [=](auto b, auto, auto i, auto j) { return std::tuple{b, 0, key_step(i, j)}; }});
  }
  return pallas_call(kernel, std::move(call));
}

Array flash_attention(const Array& q, const Array& k, const Array& v, const AttentionOptions& options) {
  static constinit CallCache cache;
  AttentionOptions o = options;
  o.log_sums = false;  // of the call behind it only
  Key key;
  key << q.type() << k.type() << v.type() << o.causal << o.scale.value_or(0) << o.scale.has_value() << o.block_q
      << o.block_k << o.query_segments.has_value() << o.bias.has_value();
  if (o.bias) key << o.bias->type();
  const PallasCall call = cache.get(key.str(), [&] { return flash_attention_call(q.type(), k.type(), o); });
  std::vector<Operand> operands{q, k, v};
  if (o.bias) operands.emplace_back(*o.bias);
  if (o.query_segments) {
    operands.emplace_back(reshaped(*o.query_segments, {q.dim(0), q.dim(2), 1}));
    operands.emplace_back(reshaped(*o.key_segments, {k.dim(0), 1, k.dim(2)}));
  }
  return call.run(operands);
}

}  // namespace smalti::kernels
