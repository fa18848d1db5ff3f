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

}  // namespace smalti
