// Rewrites of kernels before they are planned for a GPU.
#pragma once

#include <optional>

#include "gpu/Architecture.h"
#include "ir/KernelPackage.h"
#include "smalti/gpu_params.h"

namespace smalti::gpu {

/// Drops loads without users, computes scalars of constants, bounds of the grid among them, and applies those rewrites
/// of `cpu` that help here as well: products instead of the steps of a matrix unit, values that are equal in all lanes
/// once per row, products of floats as narrow as they were, the weights of a softmax less exact if they are rounded to
/// 16 bits. Then blocks that are too large are divided: for registers, or for kernels without products. nullopt: the
/// kernel stays as it is.
std::optional<KernelPackage> rewriteForGpus(const KernelPackage&, const Architecture&, const GpuParams&);

}  // namespace smalti::gpu
