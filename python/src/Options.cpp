#include "Options.h"

#include "smalti/error.h"

namespace smalti::python {

Settings settingsFrom(const OptionList& defaults, const OptionList& chosen) {
  Settings settings;
  for (const auto& [option, value] : defaults) unwrap(settings.set(option, value));
  unwrap(settings.read_environment());
  for (const auto& [option, value] : chosen) unwrap(settings.set(option, value));
  return settings;
}

}  // namespace smalti::python
