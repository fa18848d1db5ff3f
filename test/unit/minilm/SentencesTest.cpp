#include "Sentences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smalti::minilm {
namespace {

using testing::ElementsAre;

TEST(Sentences, AListOrAnObjectWithOne) {
  EXPECT_THAT(*parseJsonSentences(R"(["a", "é", ""])", "s"), ElementsAre("a", "é", ""));
  EXPECT_THAT(*parseJsonSentences(R"({"ids": [[1]], "sentences": ["a\u0000b"]})", "s"),
              ElementsAre(std::string("a\0b", 3)));
  EXPECT_TRUE(parseJsonSentences("[]", "s")->empty());
}

TEST(Sentences, InvalidListsAreRefused) {
  const std::string need = "\n  need: [\"one text\", \"another\"] or {\"sentences\": [\"one text\", \"another\"]}\n";
  const std::pair<std::string, std::string> kBad[] = {
      {"", "it is not JSON"},
      {R"(["a\ud800"])", "it is not JSON"},  // half of a surrogate pair is not a character
      {"3", "it is neither a list nor an object with one"},
      {R"({"sentences": "a"})", "it is neither a list nor an object with one"},
      {R"({"sentence": ["a"]})", "the object has no member 'sentences'"},
      {R"(["a", 1])", "item 1 is not text"},
      {std::string(100'000, '['), "it is not JSON"},
  };
  for (const auto& [text, what] : kBad)
    EXPECT_EQ(parseJsonSentences(text, "s").error().str(), "error[SM6009]: 's' holds no list of texts: " + what + need);
}

TEST(Sentences, BytesThatAreNotUtf8AreShown) {
  EXPECT_EQ(parseLines("ok\ncaf\xe9 x\n", "t").error().str(),
            "error[SM6008]: byte 0xe9 does not belong to UTF-8 text here\n  --> t:2:4\n"
            "  help: save the text as UTF-8, e.g. iconv -f ISO-8859-1 -t UTF-8\n");
  EXPECT_EQ(parseJsonSentences("[\"\xff\"]", "s").error().code, "SM6008");
}

TEST(Sentences, BlankLinesAreLeftOutAndNumbersKept) {
  const auto lines = parseLines(
      "\xEF\xBB\xBF"
      "one\r\n\n \t\r\nfour",
      "t");
  ASSERT_TRUE(lines);
  ASSERT_EQ(lines->size(), 2u);
  EXPECT_EQ((*lines)[0].text, "one");
  EXPECT_EQ((*lines)[1].number, 4);
  EXPECT_TRUE(parseLines("", "t")->empty());
}

}  // namespace
}  // namespace smalti::minilm
