#include "Options.h"

#include <cstdlib>
#include <ranges>

#include "smalti/error.h"

namespace smalti::python {

std::string targetOf(const OptionList& chosen) {
  for (const auto& [option, value] : chosen | std::views::reverse)
    if (option == "target") return value;
  const char* variable = std::getenv("SMALTI_TARGET");
  return variable && *variable ? variable : kDefaultTarget;
}

Settings settingsFrom(const OptionList& defaults, const OptionList& chosen) {
  Settings settings;
  for (const auto& [option, value] : defaults) unwrap(settings.set(option, value));
  unwrap(settings.read_environment());
  for (const auto& [option, value] : chosen) unwrap(settings.set(option, value));
  return settings;
}

}  // namespace smalti::python
