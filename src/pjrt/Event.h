// Waits for asynchronous operations of a plugin.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>

#include "pjrt/Plugin.h"

namespace smalti::pjrt {

/// Waits for an event, and destroys it; null is one that has happened. `what` completes "the plugin did not …".
/// SM6803: the event's own error; SM9006: `stop` (may be null) has become true meanwhile. `used` is kept alive until
/// the event happens, even when the wait is given up before.
Status await(const Plugin&, void* event, std::string_view what, const std::atomic<bool>* stop,
             std::shared_ptr<void> used = {});

}  // namespace smalti::pjrt
