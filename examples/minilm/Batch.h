// Texts side by side: short ones share a row of 128 or 256 tokens, and segment ids keep each to itself. So every batch
// has one of few shapes, whatever the texts are, and kernels are traced once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "Tokenizer.h"

namespace smalti::minilm {

/// Of texts of at most as many tokens rows are so long; of others kMaxTokens.
inline constexpr int64_t kShortRowTokens = 128;
inline constexpr int64_t kMaxBatchTokens = 1024;
inline constexpr int64_t kMinTexts = 8;

/// Where a text stands among the tokens of a batch.
struct Place {
  size_t text = 0;    ///< its number among all texts
  int64_t first = 0;  ///< its first token; rows follow each other
  int64_t tokens = 0;
};

/// At most `kMaxBatchTokens` tokens of texts; each array has an entry for every token of the rows.
struct Batch {
  int64_t rows = 0, rowTokens = kMaxTokens;
  std::vector<int32_t> ids;        ///< 0 where there is no text
  std::vector<int32_t> positions;  ///< from 0 in each text
  std::vector<int32_t> segments;   ///< from 1 in each row; 0 where there is no text
  std::vector<Place> places;

  int64_t tokens() const { return rows * rowTokens; }
  /// Number of texts, rounded up to a power of two of at least `kMinTexts`.
  int64_t paddedTexts() const;
  /// f32 [paddedTexts, tokens]: times the tokens' vectors, it gives each text's mean.
  std::vector<float> meanWeights() const;
};

/// Longest texts first, each where it fits first. Batches are filled up with empty rows to a multiple of `devices`.
std::vector<Batch> packed(std::span<const Tokens> texts, int64_t devices = 1);

}  // namespace smalti::minilm
