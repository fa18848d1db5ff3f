#include "base/Text.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace smalti {

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

}  // namespace smalti
