// A C++ function of arrays as a Program: plain ops, control flow, and the kernels that it calls.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lang/trace/Trace.h"

namespace smalti::lang {

using ArrayFunction = std::function<std::vector<Array>(std::span<const Array>)>;

/// Calls the function once with traced arguments. Ops on them are recorded, kernels are traced and lowered for their
/// types; other arrays that it uses become constants. Errors SM6106 (ops that a program cannot have) and those of the
/// ops.
TracedFunction traceFunction(const ArrayFunction&, std::span<const ArrayType> arguments, std::string name = "main");

/// The traced function as a Program's main, with a copy of each kernel that it still calls; verified.
Program programOf(const TracedFunction&);

/// Both: what is exported as one StableHLO module, and run by the Program runner.
Program traceProgram(const ArrayFunction&, std::span<const ArrayType> arguments, std::string name = "main");

}  // namespace smalti::lang
