#include "Tokenizer.h"

#include <algorithm>

#include "Unicode.h"

namespace smalti::minilm {

Tokenizer::Tokenizer(Vocabulary vocabulary, int64_t maxTokens)
    : vocabulary_(std::move(vocabulary)), maxTokens_(std::max<int64_t>(maxTokens, 2)) {
  for (const char* token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})
    if (const auto id = vocabulary_.id(token)) special_.emplace_back(token, *id);
}

Tokens Tokenizer::encode(std::string_view text) const {
  Tokens tokens;
  tokens.ids.push_back(vocabulary_.classifier());
  size_t start = 0;
  for (size_t at = text.find('['); at != std::string_view::npos; at = text.find('[', at)) {
    const auto special = std::find_if(special_.begin(), special_.end(),
                                      [&](const auto& s) { return text.substr(at).starts_with(s.first); });
    if (special == special_.end()) {
      ++at;
      continue;
    }
    appendText(text.substr(start, at - start), tokens.ids);
    tokens.ids.push_back(special->second);
    start = at += special->first.size();
  }
  appendText(text.substr(start), tokens.ids);
  const auto limit = static_cast<size_t>(maxTokens_ - 1);
  tokens.truncated = tokens.ids.size() > limit;
  if (tokens.truncated) tokens.ids.resize(limit);
  tokens.ids.push_back(vocabulary_.separator());
  return tokens;
}

void Tokenizer::appendText(std::string_view text, std::vector<int32_t>& ids) const {
  const std::u32string characters = normalised(text);
  const std::u32string_view all = characters;
  size_t start = 0;
  const auto endWord = [&](size_t end) {
    if (end > start) vocabulary_.appendWord(toUtf8(all.substr(start, end - start)), ids);
    start = end;
  };
  for (size_t i = 0; i < all.size(); ++i) {
    const bool blank = all[i] == ' ', punctuation = isPunctuation(all[i]);
    if (!blank && !punctuation) continue;
    endWord(i);
    if (punctuation) endWord(i + 1);
    start = i + 1;
  }
  endWord(all.size());
}

}  // namespace smalti::minilm
