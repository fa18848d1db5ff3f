// Ops on f64: arrays only, kernels have none.
#pragma once

#include "eval/Elementwise.h"

namespace smalti::eval {

UnaryKernel doubleUnary(std::string_view name);
BinaryKernel doubleBinary(std::string_view name);

}  // namespace smalti::eval
