#include "Batch.h"

#include <numeric>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace smalti::minilm {
namespace {

std::vector<Tokens> textsOfLengths(const std::vector<size_t>& lengths) {
  std::vector<Tokens> texts;
  for (const size_t length : lengths) {
    Tokens& tokens = texts.emplace_back();
    for (size_t i = 0; i < length; ++i) tokens.ids.push_back(static_cast<int32_t>(1000 * texts.size() + i));
  }
  return texts;
}

TEST(Batch, EveryTextStandsWholeInOneRow) {
  std::mt19937 random(3);
  std::vector<size_t> lengths;
  for (int i = 0; i < 300; ++i) lengths.push_back(2 + random() % (i % 3 ? 40 : 255));
  const auto texts = textsOfLengths(lengths);
  std::set<size_t> seen;
  int64_t rows = 0;
  for (const Batch& batch : packed(texts)) {
    rows += batch.rows;
    ASSERT_LE(batch.tokens(), kMaxBatchTokens);
    ASSERT_EQ(batch.ids.size(), static_cast<size_t>(batch.tokens()));
    for (const Place& place : batch.places) {
      EXPECT_TRUE(seen.insert(place.text).second);
      EXPECT_EQ(place.first / batch.rowTokens, (place.first + place.tokens - 1) / batch.rowTokens);
      for (int64_t i = 0; i < place.tokens; ++i) {
        const auto at = static_cast<size_t>(place.first + i);
        EXPECT_EQ(batch.ids[at], texts[place.text].ids[static_cast<size_t>(i)]);
        EXPECT_EQ(batch.positions[at], i);
        EXPECT_EQ(batch.segments[at], batch.segments[static_cast<size_t>(place.first)]);
        EXPECT_GT(batch.segments[at], 0);
      }
    }
  }
  EXPECT_EQ(seen.size(), texts.size());
  const auto tokens = static_cast<int64_t>(std::accumulate(lengths.begin(), lengths.end(), size_t{0}));
  EXPECT_LE(rows, tokens / kMaxTokens * 11 / 10 + 1);
}

TEST(Batch, TextsOfARowHaveSegmentsOfTheirOwn) {
  const auto batches = packed(textsOfLengths({3, 2, 256}));
  ASSERT_EQ(batches.size(), 1u);
  const Batch& batch = batches[0];
  EXPECT_EQ(batch.rows, 2);
  EXPECT_EQ(std::vector(batch.segments.begin() + 256, batch.segments.begin() + 262),
            (std::vector<int32_t>{1, 1, 1, 2, 2, 0}));
}

TEST(Batch, RowsAreAMultipleOfTheDevices) {
  const auto batches = packed(textsOfLengths({256, 256, 256, 3}), 3);
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0].rows, 6);
  EXPECT_EQ(batches[0].segments.size(), 6u * 256);
  EXPECT_EQ(batches[0].segments.back(), 0);
}

TEST(Batch, RowsAreAsLongAsTheTextsNeed) {
  EXPECT_EQ(packed(textsOfLengths({5, 128}))[0].rowTokens, 128);
  EXPECT_EQ(packed(textsOfLengths({5, 129}))[0].rowTokens, 256);
}

TEST(Batch, MeansAreWeightsOverATextsTokens) {
  const auto batches = packed(textsOfLengths({4, 2}));
  const auto weights = batches[0].meanWeights();
  ASSERT_EQ(weights.size(), 8u * 128u);
  EXPECT_EQ(weights[0], 0.25f);
  EXPECT_EQ(weights[3], 0.25f);
  EXPECT_EQ(weights[4], 0.0f);
  EXPECT_EQ(weights[128 + 4], 0.5f);
  EXPECT_EQ(std::accumulate(weights.begin(), weights.end(), 0.0f), 2.0f);
}

TEST(Batch, NoTextsNoBatches) { EXPECT_TRUE(packed({}).empty()); }

}  // namespace
}  // namespace smalti::minilm
