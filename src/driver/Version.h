#pragma once

#include <string>

namespace smalti {

/// "smalti 0.1.0 (MLIR 22.1.8)".
std::string versionText();

}  // namespace smalti
