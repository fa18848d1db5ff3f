// The implementation of smalti/settings.h: option values, and those in force on a thread.
#pragma once

#include <cstdint>

#include "base/Options.h"
#include "smalti/settings.h"

namespace smalti {

struct Settings::State {
  OptionSet options;
};

/// Option values that calls take: a thread's, or one call's own.
struct ActiveSettings {
  uint64_t serial = 0;  ///< equal serials mean equal values
  Result<Options> values;
};
/// Active settings with a new serial.
ActiveSettings activate(const Settings&);
/// The settings of this thread: the SMALTI_… variables until use_settings is called.
const ActiveSettings& activeSettings();

}  // namespace smalti
