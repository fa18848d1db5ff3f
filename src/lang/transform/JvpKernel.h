// Forward mode of a pallas_call: the kernel with a Ref of tangents for each Ref of numbers.
#pragma once

#include "lang/transform/Jvp.h"

namespace smalti::lang {

/// One call of the kernel with tangents, where JAX has one; with dynamic grids, scalar prefetch, aliases and copies of
/// its own, the tangents are those of the kernel as a function of arrays (kernel/KernelFunction.h). Error SM7112 where
/// it is none.
Differentiated jvpKernel(const OpCall&, std::span<const MaybeZero> tangents);

}  // namespace smalti::lang
