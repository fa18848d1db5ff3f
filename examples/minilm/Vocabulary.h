// vocab.txt: one token a line, its id the line's number from 0. A token that continues a word begins with "##".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "smalti/diagnostic.h"

namespace smalti::minilm {

class Vocabulary {
 public:
  /// SM1001, SM1015, SM6007 (a text that is not a vocabulary: not UTF-8, an empty or a repeated line, no [UNK]…).
  static Result<Vocabulary> read(const std::string& path);
  /// The same from memory; `name` stands in messages.
  static Result<Vocabulary> parse(std::string_view text, const std::string& name);

  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  const std::string& token(int32_t id) const { return tokens_[static_cast<size_t>(id)]; }
  std::optional<int32_t> id(std::string_view token) const;

  int32_t unknown() const { return unknown_; }
  int32_t classifier() const { return classifier_; }  ///< [CLS], before every text
  int32_t separator() const { return separator_; }    ///< [SEP], after it

  /// Appends the ids of a word: from the left always the longest token that fits, or [UNK] for the whole word when
  /// one place fits none or the word is over 100 characters.
  void appendWord(std::string_view word, std::vector<int32_t>& ids) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  using Map = std::unordered_map<std::string, int32_t, Hash, std::equal_to<>>;

  std::vector<std::string> tokens_;
  Map begins_, continues_;  ///< continuing tokens without their "##"
  size_t longestBytes_ = 0;
  int32_t unknown_ = 0, classifier_ = 0, separator_ = 0;
};

}  // namespace smalti::minilm
