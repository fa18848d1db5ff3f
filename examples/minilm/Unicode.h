// What BERT's tokeniser asks about code points, answered by ICU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smalti::minilm {

/// Where the first byte stands that no UTF-8 can have there; nothing when the text is UTF-8.
std::optional<size_t> firstNonUtf8(std::string_view text);

/// The text in lower case, decomposed (NFD) and without its accents, as words are looked up: characters that BERT
/// drops are gone, every white space is a blank, and CJK characters stand between blanks. `text` is UTF-8.
std::u32string normalised(std::string_view text);

/// A character that is a word of its own: what Unicode calls punctuation, and all of ASCII's signs.
bool isPunctuation(char32_t);

std::string toUtf8(std::u32string_view);

/// A text of a file for a line of a terminal: what would move its cursor, colour it or turn its direction is U+FFFD,
/// tabs are blanks, and after `limit` characters it ends in an ellipsis.
std::string forTerminal(std::string_view text, size_t limit);

}  // namespace smalti::minilm
