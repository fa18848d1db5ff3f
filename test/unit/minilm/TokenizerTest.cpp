#include "Tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smalti::minilm {
namespace {

using testing::ElementsAre;

Tokenizer small(int64_t maxTokens = kMaxTokens) {
  return Tokenizer(*Vocabulary::parse("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncafe\n!\n##s\n[\n]\nmask\n", "v"),
                   maxTokens);
}

TEST(Tokenizer, WordsAndPunctuation) {
  EXPECT_THAT(small().encode("The  Cafés!!").ids, ElementsAre(2, 5, 6, 8, 7, 7, 3));
  EXPECT_THAT(small().encode("").ids, ElementsAre(2, 3));
  EXPECT_THAT(small().encode(" \t\r\n").ids, ElementsAre(2, 3));
  EXPECT_THAT(small().encode("the!unknown the").ids, ElementsAre(2, 5, 7, 1, 5, 3));
}

TEST(Tokenizer, SpecialTokensThatAreSpeltOutAreTaken) {
  EXPECT_THAT(small().encode("the[MASK]s").ids, ElementsAre(2, 5, 4, 1, 3));
  EXPECT_THAT(small().encode("[mask]").ids, ElementsAre(2, 9, 11, 10, 3));
  EXPECT_THAT(small().encode("[[CLS]").ids, ElementsAre(2, 9, 2, 3));
}

TEST(Tokenizer, LongTextsAreCut) {
  const auto five = small(6).encode("the the the the");
  EXPECT_THAT(five.ids, ElementsAre(2, 5, 5, 5, 5, 3));
  EXPECT_FALSE(five.truncated);
  const auto cut = small(5).encode("the the the the");
  EXPECT_THAT(cut.ids, ElementsAre(2, 5, 5, 5, 3));
  EXPECT_TRUE(cut.truncated);
}

}  // namespace
}  // namespace smalti::minilm
