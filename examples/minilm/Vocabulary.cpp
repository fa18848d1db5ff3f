#include "Vocabulary.h"

#include <algorithm>

#include <fmt/format.h>

#include "Unicode.h"
#include "base/io/File.h"

namespace smalti::minilm {
namespace {

constexpr int64_t kMaxVocabularyBytes = 64 << 20;
constexpr size_t kMaxWordCharacters = 100;
constexpr std::string_view kContinues = "##";

bool continuesCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

tl::unexpected<Diagnostic> notVocabulary(const std::string& name, int line, std::string what) {
  return fail({.code = "SM6007",
               .message = "not a vocabulary: " + std::move(what),
               .place = {.file = name, .line = line},
               .help = "vocab.txt of a BERT model has one token a line, [UNK], [CLS] and [SEP] among them"});
}

}  // namespace

Result<Vocabulary> Vocabulary::read(const std::string& path) {
  const auto text = readFile(path, kMaxVocabularyBytes);
  if (!text) return fail(text.error());
  return parse(*text, path);
}

Result<Vocabulary> Vocabulary::parse(std::string_view text, const std::string& name) {
  Vocabulary vocabulary;
  if (const auto at = firstNonUtf8(text))
    return notVocabulary(name,
                         static_cast<int>(std::count(text.begin(), text.begin() + static_cast<long>(*at), '\n')) + 1,
                         "this is not UTF-8");
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view token = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (token.ends_with('\r')) token.remove_suffix(1);
    const auto id = static_cast<int32_t>(vocabulary.tokens_.size());
    if (token.empty()) return notVocabulary(name, id + 1, "this line is empty");
    if (!vocabulary.begins_.emplace(token, id).second)
      return notVocabulary(name, id + 1, fmt::format("'{}' stands in it twice", token.substr(0, 100)));
    if (token.starts_with(kContinues)) vocabulary.continues_.emplace(token.substr(kContinues.size()), id);
    vocabulary.longestBytes_ = std::max(vocabulary.longestBytes_, token.size());
    vocabulary.tokens_.emplace_back(token);
  }
  for (const auto& [special, member] : {std::pair("[UNK]", &Vocabulary::unknown_),
                                        {"[CLS]", &Vocabulary::classifier_},
                                        {"[SEP]", &Vocabulary::separator_}}) {
    const auto id = vocabulary.id(special);
    if (!id) return notVocabulary(name, 0, fmt::format("{} is not in it", special));
    vocabulary.*member = *id;
  }
  return vocabulary;
}

std::optional<int32_t> Vocabulary::id(std::string_view token) const {
  const auto found = begins_.find(token);
  return found == begins_.end() ? std::nullopt : std::optional(found->second);
}

void Vocabulary::appendWord(std::string_view word, std::vector<int32_t>& ids) const {
  const size_t before = ids.size();
  const auto characters =
      static_cast<size_t>(std::count_if(word.begin(), word.end(), [](char b) { return !continuesCharacter(b); }));
  size_t start = characters > kMaxWordCharacters ? std::string_view::npos : 0;
  while (start < word.size()) {
    const Map& map = start == 0 ? begins_ : continues_;
    size_t end = std::min(word.size(), start + longestBytes_);
    auto found = map.end();
    for (; end > start; --end) {
      if (end < word.size() && continuesCharacter(word[end])) continue;
      found = map.find(word.substr(start, end - start));
      if (found != map.end()) break;
    }
    if (found == map.end()) {
      start = std::string_view::npos;
    } else {
      ids.push_back(found->second);
      start = end;
    }
  }
  if (start == word.size()) return;
  ids.resize(before);
  ids.push_back(unknown_);
}

}  // namespace smalti::minilm
