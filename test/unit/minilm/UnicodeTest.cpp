#include "Unicode.h"

#include <gtest/gtest.h>

namespace smalti::minilm {
namespace {

std::string normal(std::string_view text) { return toUtf8(normalised(text)); }

TEST(Unicode, AccentsAndCaseGo) {
  EXPECT_EQ(normal("Ça et là, ÉTÉ"), "ca et la, ete");
  EXPECT_EQ(normal("Straße"), "straße");
  EXPECT_EQ(normal("İstanbul ΟΔΟΣ"), "istanbul οδοσ");  // no final sigma: letter by letter
}

TEST(Unicode, WhiteSpaceBecomesBlanksAndControlsGo) {
  EXPECT_EQ(normal("a\tb\nc\rd\u00a0e\u3000f\u2028g"), "a b c d e f g");
  EXPECT_EQ(normal(std::string("a\0b\x01\x7f\u0085\u200d\ufeff\ufffd\ue000c", 20)), "abc");
}

TEST(Unicode, IdeographsStandAlone) {
  EXPECT_EQ(normal("北京x"), " 北  京 x");
  EXPECT_EQ(normal("ひらがな"), "ひらかな");  // the voicing mark is an accent
}

TEST(Unicode, PunctuationIsUnicodesAndAllOfAsciisSigns) {
  for (const char32_t c : std::u32string(U"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~«»—。、¿"))
    EXPECT_TRUE(isPunctuation(c)) << static_cast<uint32_t>(c);
  for (const char32_t c : std::u32string(U"a0 é€±×")) EXPECT_FALSE(isPunctuation(c)) << static_cast<uint32_t>(c);
}

TEST(Unicode, LinesForATerminalHaveNoControlsAndALimit) {
  EXPECT_EQ(forTerminal("a\tb\x1b[31mred\r\u202eabc", 100), "a b\ufffd[31mred\ufffd\ufffdabc");
  EXPECT_EQ(forTerminal("北京 👩‍👧 é", 100), "北京 👩‍👧 é");
  EXPECT_EQ(forTerminal("abcdef", 6), "abcdef");
  EXPECT_EQ(forTerminal("abcdefg", 6), "abcde…");
}

TEST(Unicode, TheFirstByteThatIsNotUtf8IsFound) {
  EXPECT_FALSE(firstNonUtf8("plain, naïve, 北京, 🦊"));
  EXPECT_EQ(firstNonUtf8("ab\xff"), 2u);
  EXPECT_EQ(firstNonUtf8("a\xc3"), 1u);              // cut off
  EXPECT_EQ(firstNonUtf8("\xed\xa0\x80"), 0u);       // a surrogate
  EXPECT_EQ(firstNonUtf8("\xc0\xaf"), 0u);           // longer than needed
  EXPECT_EQ(firstNonUtf8("x\xf4\x90\x80\x80"), 1u);  // past U+10FFFF
}

}  // namespace
}  // namespace smalti::minilm
