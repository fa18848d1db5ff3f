// A bound on JSON's nesting before it is parsed: the parser's values copy themselves recursively.
#pragma once

#include <string_view>

namespace smalti::interop {

/// True when brackets outside strings nest deeper than limits::kMaxNesting. Anything may be given, JSON or not.
bool jsonNestedTooDeep(std::string_view text);

}  // namespace smalti::interop
