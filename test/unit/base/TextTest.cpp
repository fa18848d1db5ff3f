#include <gtest/gtest.h>

#include "base/Text.h"
#include "smalti/diagnostic.h"

namespace smalti {
namespace {

TEST(Text, CountedWordsHaveTheirPlurals) {
  EXPECT_EQ(counted(1, "value"), "1 value");
  EXPECT_EQ(counted(0, "value"), "0 values");
  EXPECT_EQ(counted(2, "entry"), "2 entries");
  EXPECT_EQ(counted(2, "array"), "2 arrays");
  EXPECT_EQ(counted(3, "grid index"), "3 grid indices");
  EXPECT_EQ(counted(2, "axis"), "2 axes");
}

TEST(Text, WhatIsPrintableStays) {
  for (const char* text : {"", "matmul_kernel", "a\\x1b", "é 日本 𝔘 €", "\"quoted\" */"})
    EXPECT_EQ(printable(text), text);
}

TEST(Text, ControlCharactersAndWhatIsNotUtf8AreEscaped) {
  using namespace std::string_view_literals;
  for (const auto& [text, shown] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"red \x1b[31m", "red \\x1b[31m"},
           {"a\nb\tc\rd\x7f", "a\\x0ab\\x09c\\x0dd\\x7f"},
           {"\0"sv, "\\x00"},
           {"\xc2\x9b[31m", "\\xc2\\x9b[31m"},                                             // C1: CSI in one character
           {"a\u2028b\u202Ec\u2067", "a\\xe2\\x80\\xa8b\\xe2\\x80\\xaec\\xe2\\x81\\xa7"},  // lines, direction
           {"\xff\xfe", "\\xff\\xfe"},                                                     // in no UTF-8
           {"\xc3", "\\xc3"},                                                              // cut off
           {"\xc3(", "\\xc3("},                            // a byte that does not continue
           {"\xc0\xaf", "\\xc0\\xaf"},                     // overlong
           {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},            // overlong
           {"\xed\xa0\x80", "\\xed\\xa0\\x80"},            // a surrogate
           {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}})  // beyond U+10FFFF
    EXPECT_EQ(printable(text), shown);
  EXPECT_EQ(printable("a\nb\tc\x1b", "\n\t"), "a\nb\tc\\x1b");
  const std::string once = printable("\x1b\xff");
  EXPECT_EQ(printable(once), once);
}

TEST(Text, DiagnosticsEscapeWhatTheyQuote) {
  const Diagnostic d{.code = "SM0000",
                     .message = "kernel '\x1b[31m'",
                     .place = {.file = "a\x1b.py", .line = 3, .column = 1},
                     .where = {"kernel 'k\r'"},
                     .need = "two\nlines",
                     .have = "\xff",
                     .help = "\x07",
                     .source_line = "\tx = '\x1b'"};
  EXPECT_EQ(d.str(),
            "error[SM0000]: kernel '\\x1b[31m'\n  --> a\\x1b.py:3:1\n    3 | \tx = '\\x1b'\n      | ^\n"
            "   in kernel 'k\\x0d'\n  need: two\nlines\n  have: \\xff\n  help: \\x07\n");
}

}  // namespace
}  // namespace smalti
