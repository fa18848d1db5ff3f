#include "smalti/kernels/paged_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "CallCache.h"
#include "Reshaped.h"
#include "smalti/smalti.h"

namespace smalti::kernels {
namespace {

/// By default as many pages as have a key for each lane of a row of scores, which are copied at the same time. Error
/// SM6701 where the arrays do not fit.
int64_t pages_of_step(const ArrayType& q, const ArrayType& pages, int64_t pages_per_sequence,
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
  constexpr int64_t kLanes = 128, kSublanes = 8, kWordBytes = 4;
  const int64_t length = pages.shape[2], most = std::max<int64_t>(pages_per_sequence, 1);
  const bool whole_tiles = length > 0 && length * storage_bytes(pages.dtype) % (kSublanes * kWordBytes) == 0;
  const int64_t together = o.pages_per_step.value_or(whole_tiles ? std::clamp<int64_t>(kLanes / length, 1, most) : 1);
  if (together < 1)
    raise({.code = "SM6701",
           .message = "paged_attention takes one page per step, or more",
           .place = {},
           .need = "pages_per_step >= 1",
           .have = std::to_string(together),
           .help = "leave pages_per_step out"});
  return together;
}

/// q as [batch, key heads, heads / key heads, size].
Array grouped(const Array& q, const Array& k_pages) {
  const int64_t key_heads = k_pages.dim(0), group = key_heads == 0 ? 0 : q.dim(1) / key_heads;
  return reshaped(q, {q.dim(0), key_heads, group, q.dim(2)});
}

/// Concatenated along their rows.
Array joined(const std::vector<Ref>& pages) {
  if (pages.size() == 1) return pages[0][_];
  std::vector<Operand> blocks;
  for (const Ref& page : pages) blocks.emplace_back(page[_]);
  return concatenate(blocks);
}

}  // namespace

PallasCall paged_attention_call(const ArrayType& q, const ArrayType& pages, int64_t pages_per_sequence,
                                const PagedAttentionOptions& o) {
  const int64_t together = pages_of_step(q, pages, pages_per_sequence, o);
  const int64_t batch = q.shape[0], heads = q.shape[1], group = q.shape[2], size = q.shape[3];
  const int64_t length = pages.shape[2];
  const int64_t steps = cdiv(pages_per_sequence, together), keys = together * length;
  const float scale = o.scale.value_or(1 / std::sqrt(static_cast<float>(size)));

  auto kernel = [=](const std::vector<Ref>& refs) {
    auto next = refs.begin();
    const Ref lengths = *next++;
    ++next;  // the table, which only index maps read
    const Ref q = *next++;
    const std::vector<Ref> k(next, next + together), v(next + together, next + 2 * together);
    next += 2 * together;
    const Ref o = *next++, m = *next++, l = *next++, acc = *next++;
    const Array b = program_id(0), j = program_id(2);
    when(j == 0, [&] {
      m[_] = full_like(m, std::numeric_limits<float>::lowest());
      l[_] = zeros_like(l);
      acc[_] = zeros_like(acc);
    });
    when(j * keys < lengths[b], [&] {
      Array s = dot_general(q[_], joined(k), {{1}, {1}}, {.preferred_element_type = f32}) * scale;
      const Array col = j * keys + broadcasted_iota(i32, {group, keys}, 1);
      s = where(col < lengths[b], s, -std::numeric_limits<float>::infinity());
      const Array m_prev = m[_], m_next = maximum(m_prev, max(s, {.axes = {1}, .keepdims = true}));
      const Array p = exp(s - m_next), alpha = exp(m_prev - m_next);
      m[_] = m_next;
      l[_] = l[_] * alpha + sum(p, {.axes = {1}, .keepdims = true});
      acc[_] = acc[_] * alpha + dot(astype(p, pages.dtype), joined(v), {.preferred_element_type = f32});
    });
    when(j == steps - 1, [&] { o[_] = astype(acc[_] / where(l[_] == 0, 1, l[_]), o.dtype()); });
  };

  const BlockSpec q_spec{{squeezed, squeezed, group, size},
                         [](auto b, auto h, auto, auto, auto) { return std::tuple{b, h, 0, 0}; }};
  // Past the end of a sequence a program stays on its last page, to avoid useless fetches.
  std::vector<BlockSpec> in_specs{q_spec};
  for (int64_t i = 0; i < 2 * together; ++i)
    in_specs.push_back({{squeezed, squeezed, length, size}, [=](auto b, auto h, auto j, auto lengths, auto table) {
                          const Array last = maximum(div(lengths[b] + (length - 1), length) - 1, 0);
                          const Array page = minimum(j * together + i % together, last);
                          return std::tuple{h, table[b * pages_per_sequence + page], 0, 0};
                        }});
  return pallas_call(kernel,
                     {.out_shape = ShapeDtype{q.shape, q.dtype},
                      .grid = {batch, heads, steps},
                      .in_specs = in_specs,
                      .out_specs = {q_spec},
                      .scratch_shapes = {vmem({group, 1}, f32), vmem({group, 1}, f32), vmem({group, size}, f32)},
                      .num_scalar_prefetch = 2,
                      .name = "paged_attention",
                      .compiler_params = {.dimension_semantics = {parallel, parallel, arbitrary}}});
}

std::vector<Operand> paged_attention_operands(const Array& q, const Array& k_pages, const Array& v_pages,
                                              const Array& lengths, const Array& page_table,
                                              const PagedAttentionOptions& o) {
  const Array rows = grouped(q, k_pages);
  const auto together = static_cast<size_t>(pages_of_step(rows.type(), k_pages.type(), page_table.dim(1), o));
  std::vector<Operand> operands{lengths, reshaped(page_table, {page_table.elements()}), rows};
  operands.insert(operands.end(), together, k_pages);
  operands.insert(operands.end(), together, v_pages);
  return operands;
}

Array paged_attention(const Array& q, const Array& k_pages, const Array& v_pages, const Array& lengths,
                      const Array& page_table, const PagedAttentionOptions& o) {
  static constinit CallCache cache;
  const std::string key = (Key() << q.type() << k_pages.type() << page_table.type() << o.scale.value_or(0)
                                 << o.scale.has_value() << o.pages_per_step.value_or(0))
                              .str();
  const PallasCall call = cache.get(
      key, [&] { return paged_attention_call(grouped(q, k_pages).type(), k_pages.type(), page_table.dim(1), o); });
  const Array out = call.run(paged_attention_operands(q, k_pages, v_pages, lengths, page_table, o));
  return reshaped(out, q.shape());
}

}  // namespace smalti::kernels
