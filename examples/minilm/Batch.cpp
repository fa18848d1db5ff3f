#include "Batch.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace smalti::minilm {
namespace {

/// A row while it is filled.
struct Row {
  std::vector<size_t> texts;
  int64_t used = 0;
};

/// Rows with room are looked for among the newest only, so that packing stays linear in the number of texts.
constexpr size_t kOpenRows = 16;

int64_t rowTokensFor(std::span<const Tokens> texts) {
  const bool allShort = std::all_of(texts.begin(), texts.end(), [](const Tokens& t) {
    return static_cast<int64_t>(t.ids.size()) <= kShortRowTokens;
  });
  return allShort ? kShortRowTokens : kMaxTokens;
}

std::vector<Row> rowsOf(std::span<const Tokens> texts, int64_t rowTokens) {
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return texts[a].ids.size() > texts[b].ids.size(); });
  std::vector<Row> rows;
  for (const size_t text : order) {
    const auto tokens = static_cast<int64_t>(texts[text].ids.size());
    const size_t firstOpen = rows.size() - std::min(rows.size(), kOpenRows);
    auto row = std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(firstOpen), rows.end(),
                            [&](const Row& r) { return r.used + tokens <= rowTokens; });
    if (row == rows.end()) row = rows.insert(rows.end(), Row{});
    row->texts.push_back(text);
    row->used += tokens;
  }
  return rows;
}

void appendEmptyRow(Batch& batch) {
  ++batch.rows;
  for (auto* array : {&batch.ids, &batch.positions, &batch.segments})
    array->resize(static_cast<size_t>(batch.tokens()), 0);
}

void append(Batch& batch, const Row& row, std::span<const Tokens> texts) {
  int64_t at = batch.tokens();
  appendEmptyRow(batch);
  int32_t segment = 0;
  for (const size_t text : row.texts) {
    ++segment;
    const auto& ids = texts[text].ids;
    batch.places.push_back({text, at, static_cast<int64_t>(ids.size())});
    for (size_t i = 0; i < ids.size(); ++i, ++at) {
      batch.ids[static_cast<size_t>(at)] = ids[i];
      batch.positions[static_cast<size_t>(at)] = static_cast<int32_t>(i);
      batch.segments[static_cast<size_t>(at)] = segment;
    }
  }
}

}  // namespace

std::vector<Batch> packed(std::span<const Tokens> texts, int64_t devices) {
  std::vector<Batch> batches;
  const int64_t rowTokens = rowTokensFor(texts);
  for (const Row& row : rowsOf(texts, rowTokens)) {
    if (batches.empty() || batches.back().tokens() == kMaxBatchTokens) batches.emplace_back().rowTokens = rowTokens;
    append(batches.back(), row, texts);
  }
  for (Batch& batch : batches)
    while (batch.rows % devices != 0) appendEmptyRow(batch);
  return batches;
}

int64_t Batch::paddedTexts() const {
  return static_cast<int64_t>(std::bit_ceil(std::max<size_t>(places.size(), kMinTexts)));
}

std::vector<float> Batch::meanWeights() const {
  std::vector<float> weights(static_cast<size_t>(paddedTexts() * tokens()), 0);
  for (size_t i = 0; i < places.size(); ++i) {
    const auto row = weights.begin() + static_cast<std::ptrdiff_t>(i) * tokens();
    std::fill_n(row + places[i].first, places[i].tokens, 1 / static_cast<float>(places[i].tokens));
  }
  return weights;
}

}  // namespace smalti::minilm
