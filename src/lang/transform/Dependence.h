// Determines which results of a traced function depend on which of its arguments.
#pragma once

#include "lang/trace/Trace.h"

namespace smalti::lang {

/// `floats`: through numbers that can be differentiated; integers and bools carry nothing on.
enum class Through : uint8_t { floats, everything };

/// One flag per result: whether it may depend on an argument that is flagged. Exact for loops and branches.
Mask dependent(const TracedFunction&, const Mask& arguments, Through);

/// Whether the derivative of the op is zero wherever it has one: it rounds, compares or counts.
bool isFlatEverywhere(const OpRecord&);

}  // namespace smalti::lang
