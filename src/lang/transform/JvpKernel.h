// Forward mode of a pallas_call: the kernel with a Ref of tangents for each Ref of numbers.
#pragma once

#include "lang/transform/Jvp.h"

namespace smalti::lang {

/// One call of the kernel with tangents. As in JAX not for dynamic grids, scalar prefetch and aliases; nor for kernels
/// that copy by themselves: error SM7112.
Differentiated jvpKernel(const OpCall&, std::span<const MaybeZero> tangents);

}  // namespace smalti::lang
