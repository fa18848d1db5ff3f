// Decimal text of floats, as MLIR reads it: to a double first, then rounded once to the type.
#pragma once

#include <cstdint>
#include <string>

#include "smalti/dtype.h"

namespace llvm {
struct fltSemantics;
}

namespace smalti::interop::stablehlo {

/// nullptr: not a float.
const llvm::fltSemantics* floatSemantics(DType);
uint64_t floatBits(DType, const std::string& decimal);

}  // namespace smalti::interop::stablehlo
