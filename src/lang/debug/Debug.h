#pragma once

namespace smalti::lang {

/// Whether debug_checks are traced on this thread.
bool debugChecksEnabled();
/// Whether memory of scopes that are traced on this thread is poisoned.
bool poisonBuffersEnabled();

}  // namespace smalti::lang
