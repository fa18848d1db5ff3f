// Running a traced function again: recorded once, it can be computed, recorded elsewhere, or transformed.
#pragma once

#include <span>
#include <variant>
#include <vector>

#include "lang/trace/Trace.h"

namespace smalti::lang {

/// An argument of a traced function: kernels take Refs.
using TracedArgument = std::variant<Array, Ref>;

/// Runs the function's ops under the tracer in force, each at the place where it was recorded; gives what it returns.
/// Control flow is given to the tracer with its regions as functions. A function with Refs needs a trace of a kernel.
std::vector<Array> replay(const TracedFunction&, std::span<const TracedArgument> arguments);
std::vector<Array> replay(const TracedFunction&, std::span<const Array> arguments);

}  // namespace smalti::lang
