// Which element-wise ops have native code, by dtype.
#pragma once

#include <string_view>
#include <vector>

#include "mlir/IR/Operation.h"

namespace smalti::cpu {

/// Whether the op is element-wise, and has native code (emit/elements/Elementwise.h) for its dtypes.
bool isNativeElementwise(mlir::Operation&);

/// The names of these ops.
std::vector<std::string_view> elementwiseOpNames();

}  // namespace smalti::cpu
