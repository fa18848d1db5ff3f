// A NativeReport as the text kept next to its object code.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cpu/Report.h"

namespace smalti::cpu {

/// One fact per line. The times are those of the compilation, which reading back leaves out;
/// kernels with interpreted ops are not kept.
std::string reportText(const NativeReport&);
/// Absent when the text is not what `reportText` writes. `compile.fromCache` is set.
std::optional<NativeReport> readReport(std::string_view text);

}  // namespace smalti::cpu
