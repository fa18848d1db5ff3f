// Looks over Mosaic text before MLIR's parser does: refuses input that would hang, crash or exhaust it, and ops
// that no kernel holds; puts spellings of a newer MLIR in the form that this MLIR reads.
#pragma once

#include <string>
#include <string_view>

#include "smalti/diagnostic.h"

namespace smalti::interop::text {

struct ScannedText {
  std::string text;       ///< same lines and (but for respelled ops) columns as the input
  bool isStable = false;  ///< holds ops named "stable_mosaic.…"
};

/// SM2201 beyond a limit, SM2202 not MLIR text, SM2204 for numbers that their type does not hold, SM3101 and SM3103
/// for ops that are refused.
Result<ScannedText> scan(std::string_view text, const std::string& fileName);

}  // namespace smalti::interop::text
