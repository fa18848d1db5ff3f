#include "Vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smalti::minilm {
namespace {

using testing::ElementsAre;

Vocabulary shortVocabulary() {
  return *Vocabulary::parse(
      "[UNK]\n[CLS]\n[SEP]\nun\nbeliev\n##believ\n##able\n##a\n##ble\na\n\xe5\x8c\x97\n##\xc3\xa9\n", "v");
}

std::vector<int32_t> pieces(const std::string& word) {
  std::vector<int32_t> ids;
  shortVocabulary().appendWord(word, ids);
  return ids;
}

TEST(Vocabulary, TheLongestTokenWins) {
  EXPECT_THAT(pieces("unbelievable"), ElementsAre(3, 5, 6));
  EXPECT_THAT(pieces("believa"), ElementsAre(4, 7));
  EXPECT_THAT(pieces("aab"), ElementsAre(0));  // 'a', '##a', then nothing for 'b'
  EXPECT_THAT(pieces("a\xc3\xa9"), ElementsAre(9, 11));
  EXPECT_THAT(pieces("\xe5\x8c\x97"), ElementsAre(10));
}

TEST(Vocabulary, AWordOverAHundredCharactersIsUnknown) {
  EXPECT_EQ(pieces("a" + std::string(99, 'a')).size(), 100u);
  EXPECT_THAT(pieces("a" + std::string(100, 'a')), ElementsAre(0));
  std::string accents = "a";
  for (int i = 0; i < 99; ++i) accents += "\xc3\xa9";  // 199 bytes, 100 characters
  EXPECT_EQ(pieces(accents).size(), 100u);
}

TEST(Vocabulary, WindowsLinesAndAMissingLastNewlineAreFine) {
  const auto v = Vocabulary::parse("[UNK]\r\n[CLS]\r\n[SEP]", "v");
  ASSERT_TRUE(v) << v.error().str();
  EXPECT_EQ(v->size(), 3);
  EXPECT_EQ(v->token(2), "[SEP]");
}

TEST(Vocabulary, InvalidVocabulariesAreRefused) {
  const std::string help =
      "  help: vocab.txt of a BERT model has one token a line, [UNK], [CLS] and [SEP] among them\n";
  const std::pair<std::string, std::string> kBad[] = {
      {"", "error[SM6007]: not a vocabulary: [UNK] is not in it\n  --> v\n"},
      {"[UNK]\n[CLS]\n", "error[SM6007]: not a vocabulary: [SEP] is not in it\n  --> v\n"},
      {"[UNK]\n\nx\n", "error[SM6007]: not a vocabulary: this line is empty\n  --> v:2\n"},
      {"[UNK]\nx\nx\n", "error[SM6007]: not a vocabulary: 'x' stands in it twice\n  --> v:3\n"},
      {"[UNK]\nx\n\xff\n", "error[SM6007]: not a vocabulary: this is not UTF-8\n  --> v:3\n"},
  };
  for (const auto& [text, refusal] : kBad) EXPECT_EQ(Vocabulary::parse(text, "v").error().str(), refusal + help);
}

}  // namespace
}  // namespace smalti::minilm
