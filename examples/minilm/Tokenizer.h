// Text to token ids, as BERT's uncased models were trained with them: clean-up, words, WordPiece.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "Vocabulary.h"

namespace smalti::minilm {

/// all-MiniLM-L6-v2 reads this many tokens of a text, [CLS] and [SEP] included.
inline constexpr int64_t kMaxTokens = 256;

struct Tokens {
  std::vector<int32_t> ids;
  bool truncated = false;  ///< the text had more
};

class Tokenizer {
 public:
  explicit Tokenizer(Vocabulary vocabulary, int64_t maxTokens = kMaxTokens);

  const Vocabulary& vocabulary() const { return vocabulary_; }
  int64_t maxTokens() const { return maxTokens_; }
  /// `text` is UTF-8. Special tokens that are spelt out in it ("[MASK]") are taken as such.
  Tokens encode(std::string_view text) const;

 private:
  void appendText(std::string_view text, std::vector<int32_t>& ids) const;

  Vocabulary vocabulary_;
  int64_t maxTokens_;
  std::vector<std::pair<std::string, int32_t>> special_;
};

}  // namespace smalti::minilm
