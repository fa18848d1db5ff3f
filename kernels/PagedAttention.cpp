#include "smalti/kernels/paged_attention.h"

#include <cmath>
#include <limits>

#include "CallCache.h"
#include "smalti/smalti.h"

namespace smalti::kernels {

PallasCall paged_attention_call(const ArrayType& q, const ArrayType& pages, int64_t steps,
                                const PagedAttentionOptions& o) {
  const bool fits =
      q.shape.size() == 4 && pages.shape.size() == 4 && q.shape[1] == pages.shape[0] && q.shape[3] == pages.shape[3];
  if (!fits)
    raise({.code = "SM6701",
           .message = "paged_attention takes q [batch, heads, size] and pages [key heads, pages, page length, size]",
           .place = {},
           .need = "equal sizes, and key heads that divide the heads",
           .have = q.str() + " (heads in groups) and " + pages.str(),
           .help = "transpose the arrays"});
  const int64_t batch = q.shape[0], heads = q.shape[1], group = q.shape[2], size = q.shape[3];
  const int64_t length = pages.shape[2];
  const float scale = o.scale.value_or(1 / std::sqrt(static_cast<float>(size)));

  auto kernel = [=](Ref lengths, Ref, Ref q, Ref k, Ref v, Ref o, Ref m, Ref l, Ref acc) {
    const Array b = program_id(0), j = program_id(2);
    when(j == 0, [&] {
      m[_] = full_like(m, std::numeric_limits<float>::lowest());
      l[_] = zeros_like(l);
      acc[_] = zeros_like(acc);
    });
    when(j * length < lengths[b], [&] {
      Array s = dot_general(q[_], k[_], {{1}, {1}}, {.preferred_element_type = f32}) * scale;
      const Array col = j * length + broadcasted_iota(i32, {group, length}, 1);
      s = where(col < lengths[b], s, -std::numeric_limits<float>::infinity());
      const Array m_prev = m[_], m_next = maximum(m_prev, max(s, {.axes = {1}, .keepdims = true}));
      const Array p = exp(s - m_next), alpha = exp(m_prev - m_next);
      m[_] = m_next;
      l[_] = l[_] * alpha + sum(p, {.axes = {1}, .keepdims = true});
      acc[_] = acc[_] * alpha + dot(astype(p, v.dtype()), v[_], {.preferred_element_type = f32});
    });
    when(j == steps - 1, [&] { o[_] = astype(acc[_] / where(l[_] == 0, 1, l[_]), o.dtype()); });
  };

  const BlockSpec q_spec{{squeezed, squeezed, group, size},
                         [](auto b, auto h, auto, auto, auto) { return std::tuple{b, h, 0, 0}; }};
  // Past the end of a sequence a program stays on its last page, so that nothing is fetched for nothing.
  const BlockSpec page_spec{{squeezed, squeezed, length, size}, [=](auto b, auto h, auto j, auto lengths, auto table) {
                              const Array last = maximum(div(lengths[b] + (length - 1), length) - 1, 0);
                              return std::tuple{h, table[b * steps + minimum(j, last)], 0, 0};
                            }};
  return pallas_call(kernel,
                     {.out_shape = ShapeDtype{q.shape, q.dtype},
                      .grid = {batch, heads, steps},
                      .in_specs = {q_spec, page_spec, page_spec},
                      .out_specs = {q_spec},
                      .scratch_shapes = {vmem({group, 1}, f32), vmem({group, 1}, f32), vmem({group, size}, f32)},
                      .num_scalar_prefetch = 2,
                      .name = "paged_attention",
                      .compiler_params = {.dimension_semantics = {parallel, parallel, arbitrary}}});
}

Array paged_attention(const Array& q, const Array& k_pages, const Array& v_pages, const Array& lengths,
                      const Array& page_table, const PagedAttentionOptions& o) {
  static CallCache cache;
  const int64_t key_heads = k_pages.dim(0), group = key_heads == 0 ? 0 : q.dim(1) / key_heads;
  const Array grouped = unwrap(q.reshaped({q.dim(0), key_heads, group, q.dim(2)}));
  const std::string key =
      (Key() << grouped.type() << k_pages.type() << page_table.type() << o.scale.value_or(0) << o.scale.has_value())
          .str();
  const PallasCall call =
      cache.get(key, [&] { return paged_attention_call(grouped.type(), k_pages.type(), page_table.dim(1), o); });
  const Array out = call(lengths, unwrap(page_table.reshaped({page_table.elements()})), grouped, k_pages, v_pages);
  return unwrap(out.reshaped(q.shape()));
}

}  // namespace smalti::kernels
