#include "base/Text.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace smalti {
namespace {

/// The number of bytes of the character that the text starts with; 0 if that is not valid UTF-8 (RFC 3629, section 4).
size_t bytesOfCharacter(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const size_t count = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (count > text.size()) return 0;
  for (size_t i = 1; i < count; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const auto second = [&] { return byte(1); };
  const bool isOverlong = (first == 0xE0 && second() < 0xA0) || (first == 0xF0 && second() < 0x90);
  const bool isOutside = (first == 0xED && second() > 0x9F) || (first == 0xF4 && second() > 0x8F);
  return isOverlong || isOutside ? 0 : count;
}

bool isControl(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 2) return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;  // C1
  if (character.size() == 3) {
    // The ends of lines and paragraphs, and what overrides or isolates the direction of text, which reorders a line.
    const auto isIn = [&](std::string_view low, std::string_view high) {
      return low <= character && character <= high;
    };
    return isIn("\u2028", "\u202E") || isIn("\u2066", "\u2069");
  }
  return character.size() == 1 && (first < 0x20 || first == 0x7F);
}

}  // namespace

int editDistance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = std::exchange(row[0], static_cast<int>(i));
    for (size_t j = 1; j <= b.size(); ++j) {
      const int change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

std::vector<std::string> nearest(std::string_view word, std::span<const std::string> candidates, int limit) {
  constexpr size_t kLongestWord = 100;
  std::vector<std::pair<int, std::string>> found;
  if (word.size() > kLongestWord) return {};
  for (const std::string& candidate : candidates)
    if (const int distance = editDistance(word, candidate); distance <= 1 + static_cast<int>(word.size()) / 3)
      found.emplace_back(distance, candidate);
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> words;
  for (auto& [distance, candidate] : found)
    if (static_cast<int>(words.size()) < limit) words.push_back(std::move(candidate));
  return words;
}

std::string counted(size_t count, std::string_view noun) {
  std::string text = std::to_string(count) + " ";
  if (count == 1) return text.append(noun);
  const auto with = [&](size_t dropped, std::string_view ending) {
    return text.append(noun.substr(0, noun.size() - dropped)).append(ending);
  };
  if (noun.ends_with("index")) return with(2, "ices");
  if (noun.ends_with("axis")) return with(2, "es");
  const bool yAfterConsonant = noun.size() > 1 && noun.ends_with("y") &&
                               std::string_view("aeiou").find(noun[noun.size() - 2]) == std::string_view::npos;
  return yAfterConsonant ? with(1, "ies") : with(0, "s");
}

std::string printable(std::string_view text, std::string_view kept) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const size_t valid = bytesOfCharacter(text);
    const std::string_view character = text.substr(0, std::max<size_t>(valid, 1));
    if (valid > 0 && (!isControl(character) || kept.find(character) != kept.npos))
      shown += character;
    else
      for (const char c : character) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    text.remove_prefix(character.size());
  }
  return shown;
}

std::string cComment(std::string_view text) {
  std::string comment;
  for (const char c : printable(text)) {
    const bool isDelimiter =
        !comment.empty() && ((c == '/' && comment.back() == '*') || (c == '*' && comment.back() == '/'));
    if (isDelimiter) comment += ' ';
    comment += c;
  }
  return comment;
}

}  // namespace smalti
