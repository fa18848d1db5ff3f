// softmax(q kᵀ) v without materialising the matrix of scores.
#pragma once

#include <optional>

#include "smalti/pallas_call.h"

namespace smalti::kernels {

struct AttentionOptions {
  /// Query i sees keys 0 … i only.
  bool causal = false;
  /// Scale of the scores; 1 / sqrt(head size) if not given.
  std::optional<float> scale{};
  /// Added to the scaled scores: [batch or 1, heads or 1, queries, keys].
  std::optional<Array> bias{};
  /// i32 [batch, queries] and [batch, keys]: a query sees keys of its own segment only. Both or none.
  std::optional<Array> query_segments{}, key_segments{};
  /// Of the call: a second result, f32 [batch, heads, queries, 1], the base-2 logarithms of each row's sum of
  /// exp(score).
  bool log_sums = false;
  /// 0: chosen.
  int64_t block_q = 0, block_k = 0;
};

/// q: [batch, heads, queries, size]; k, v: [batch, key heads, keys, size], where key heads divide heads: as many
/// (multi-head), one (multi-query) or in between (grouped-query). Any lengths. A query without visible keys yields 0.
Array flash_attention(const Array& q, const Array& k, const Array& v, const AttentionOptions& options = {});
/// The call behind it; takes q, k, v, then bias, then segments as [batch, queries, 1] and [batch, 1, keys].
PallasCall flash_attention_call(const ArrayType& q, const ArrayType& k, const AttentionOptions& options = {});

}  // namespace smalti::kernels
