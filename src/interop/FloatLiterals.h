// Decimal text of floats, as MLIR reads it: to a double first, then rounded once to the type.
#pragma once

#include <cstdint>
#include <string>

#include "smalti/dtype.h"

namespace llvm {
struct fltSemantics;
}

namespace smalti::interop {

/// nullptr: not a float.
const llvm::fltSemantics* floatSemantics(DType);
double decimalValue(const std::string& decimal);
uint64_t floatBits(DType, const std::string& decimal);
/// Whether the number is finite after rounding. Overflow would give infinity, NaN, or in f4e2m1fn, which has neither,
/// 6; f8e8m0fnu has neither 0 nor negative numbers.
bool holdsDecimal(DType, const std::string& decimal);
double largestFloat(DType);

}  // namespace smalti::interop
