// Forms of ops that have no native code, as far as types and attributes tell.
#pragma once

#include <optional>
#include <string>

#include "mlir/IR/Operation.h"

namespace smalti::cpu {

/// Why an op of this form has no native code: "a store that changes the element type". nullopt: nothing in its types
/// and attributes prevents it. Plans ask this before an op is planned, so that the emitters need not.
std::optional<std::string> unsupportedForm(mlir::Operation&);

}  // namespace smalti::cpu
