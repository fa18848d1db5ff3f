// Attention of one new query per sequence over keys and values stored in pages (decoding).
#pragma once

#include <optional>
#include <vector>

#include "smalti/pallas_call.h"

namespace smalti::kernels {

struct PagedAttentionOptions {
  /// Scale of the scores; 1 / sqrt(head size) if not given.
  std::optional<float> scale{};
  /// That a program works on together, each in a window of its own; by default as many as hold 128 keys.
  std::optional<int64_t> pages_per_step{};
};

/// q: [batch, heads, size]; k_pages, v_pages: [key heads, pages, page length, size]; lengths: i32 [batch], keys of each
/// sequence; page_table: i32 [batch, pages per sequence]. The result of a sequence without keys is 0.
Array paged_attention(const Array& q, const Array& k_pages, const Array& v_pages, const Array& lengths,
                      const Array& page_table, const PagedAttentionOptions& options = {});
/// The call behind it: lengths and the table flat (prefetched), q as [batch, key heads, heads / key heads, size], the
/// pages of keys once for each page of a step, then those of values. Error SM6701 for fewer pages than one.
PallasCall paged_attention_call(const ArrayType& q, const ArrayType& pages, int64_t pages_per_sequence,
                                const PagedAttentionOptions& options = {});
/// What that call takes.
std::vector<Operand> paged_attention_operands(const Array& q, const Array& k_pages, const Array& v_pages,
                                              const Array& lengths, const Array& page_table,
                                              const PagedAttentionOptions& options = {});

}  // namespace smalti::kernels
