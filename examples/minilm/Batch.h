// Texts side by side: short ones share a row of 256 tokens, and segment ids keep each to itself. So every batch has the
// same few shapes, whatever the texts are, and kernels are traced once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "Tokenizer.h"

namespace smalti::minilm {

inline constexpr int64_t kRowTokens = kMaxTokens;
inline constexpr int64_t kMaxRows = 4;
inline constexpr int64_t kTextsMultiple = 128;

/// Where a text stands among the tokens of a batch.
struct Place {
  size_t text = 0;    ///< its number among all texts
  int64_t first = 0;  ///< its first token; rows follow each other
  int64_t tokens = 0;
};

/// At most `kMaxRows` rows; each array has an entry for every token of the rows.
struct Batch {
  int64_t rows = 0;
  std::vector<int32_t> ids;        ///< 0 where there is no text
  std::vector<int32_t> positions;  ///< from 0 in each text
  std::vector<int32_t> segments;   ///< from 1 in each row; 0 where there is no text
  std::vector<Place> places;

  int64_t tokens() const { return rows * kRowTokens; }
  /// Number of texts, rounded up to `kTextsMultiple`.
  int64_t paddedTexts() const;
  /// f32 [paddedTexts, tokens]: times the tokens' vectors, it gives each text's mean.
  std::vector<float> meanWeights() const;
};

/// Longest texts first, each where it fits first.
std::vector<Batch> packed(std::span<const Tokens> texts);

}  // namespace smalti::minilm
