// A NativeReport as text that is cached with its object code.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cpu/Report.h"

namespace smalti::cpu {

/// One fact per line. The times are those of the compilation, which reading back leaves out;
/// kernels with interpreted ops are not cached.
std::string reportText(const NativeReport&);
/// nullopt if the text is not in the format of `reportText`. `compile.fromCache` is set.
std::optional<NativeReport> readReport(std::string_view text);

}  // namespace smalti::cpu
