#pragma once

namespace smalti::lang {

/// Whether debug_checks are traced on this thread.
bool debugChecksEnabled();

}  // namespace smalti::lang
