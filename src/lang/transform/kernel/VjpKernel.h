// Reverse mode of a pallas_call.
#pragma once

#include "lang/transform/Jvp.h"

namespace smalti::lang {

/// The call, and its tangents as an op that can be transposed. Error SM7113 where the kernel is not a function of
/// arrays.
Differentiated linearizedKernel(const OpCall&, std::span<const MaybeZero> tangents);
/// The results of a kernel some of whose operands are linear values of the tracer in force.
std::vector<Array> linearKernel(const OpCall&);

}  // namespace smalti::lang
