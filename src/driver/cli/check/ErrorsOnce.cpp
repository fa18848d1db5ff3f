#include "driver/cli/check/ErrorsOnce.h"

#include <algorithm>

#include <fmt/format.h>

namespace smalti::cli {

void ErrorsOnce::print(const std::string& path, const Diagnostic& d) {
  // Not `need` and `have`, which may differ between modules with the same error.
  const std::string what = d.code + d.message;
  if (std::ranges::find(printed_, what) != printed_.end()) return;
  printed_.push_back(what);
  session_.print(fmt::format("{}:\n{}\n", path, session_.diagnosticText(d, "error", session_.colorOut())));
}

}  // namespace smalti::cli
