// Which copies of a kernel other threads execute (runtime/AsyncCopies.h).
#pragma once

#include <cstdint>

namespace smalti::cpu {

/// Bytes. A thread copies less in less than the microsecond that it takes to tell another one of it and back.
inline constexpr int64_t kFewestSharedBytes = 8 * 1024;

}  // namespace smalti::cpu
