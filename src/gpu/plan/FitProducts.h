// Divides blocks that are too large for the registers of a GPU.
#pragma once

#include <optional>

#include "gpu/Architecture.h"
#include "ir/KernelPackage.h"
#include "smalti/gpu_params.h"

namespace smalti::gpu {

/// A TPU has room for blocks of thousands of rows and columns. If the results of products do not fit into registers,
/// but do in parts of their blocks, each part becomes a step of its own (cpu/rewrite/grid/SplitAxis.h). If no division
/// of them suffices, parts have 128 rows. nullopt: results fit, or blocks cannot be divided.
std::optional<KernelPackage> fitProducts(const KernelPackage&, const Architecture&, const GpuParams&);

}  // namespace smalti::gpu
