#include "driver/cli/ErrorsOnce.h"

#include <algorithm>

#include <fmt/format.h>

namespace smalti::cli {

void ErrorsOnce::tell(const std::string& path, const Diagnostic& d) {
  const std::string text = session_.diagnosticText(d, "error", session_.colorOut());
  if (std::ranges::find(told_, text) != told_.end()) return;
  told_.push_back(text);
  session_.print(fmt::format("{}:\n{}\n", path, text));
}

}  // namespace smalti::cli
