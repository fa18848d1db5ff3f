// Text utilities.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smalti {

/// Letters to insert, remove or change to make one word of the other. Own code: LLVM has the same, but this layer is
/// free of LLVM, and no other library here has it.
int editDistance(std::string_view a, std::string_view b);

/// The (at most `limit`) candidates nearest to a word, nearest first; those too far off are left out.
std::vector<std::string> nearest(std::string_view word, std::span<const std::string> candidates, int limit = 3);

/// "1 value", "3 values"; entry, index and axis have their own plurals.
std::string counted(size_t count, std::string_view noun);

/// The text with \xNN for each byte that is a control character (C1 and those of Unicode's line ends and text direction
/// included) or not part of valid UTF-8, but for those in `kept`: names from modules can then neither move a terminal's
/// cursor nor pretend to be further lines or other text.
std::string printable(std::string_view text, std::string_view kept = "");

/// `text` for a comment in C: printable, on one line, and without the delimiters of comments.
std::string cComment(std::string_view text);

}  // namespace smalti
