#include "driver/cli/check/ErrorsOnce.h"

#include <algorithm>

#include <fmt/format.h>

namespace smalti::cli {

void ErrorsOnce::tell(const std::string& path, const Diagnostic& d) {
  // Whoever else looked at the same thing may have needed something else of it.
  const std::string what = d.code + d.message;
  if (std::ranges::find(told_, what) != told_.end()) return;
  told_.push_back(what);
  session_.print(fmt::format("{}:\n{}\n", path, session_.diagnosticText(d, "error", session_.colorOut())));
}

}  // namespace smalti::cli
