// Where the recorded kernels are, for tests over all of them.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace smalti::test {

/// Where SMALTI_CORPUS says, or next to the checkout; it need not exist.
inline std::filesystem::path recordingsFolder() {
  if (const char* named = std::getenv("SMALTI_CORPUS")) return named;
  return std::filesystem::path(SMALTI_SOURCE_DIR) / ".." / "shared" / "corpus";
}

}  // namespace smalti::test
