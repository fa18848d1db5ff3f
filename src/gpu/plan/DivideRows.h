// Divides the blocks of kernels that are bound by memory.
#pragma once

#include <optional>

#include "ir/KernelPackage.h"

namespace smalti::gpu {

/// A kernel without products is fastest in blocks of one or two rows of thousands of elements
/// (docs/performance_gpu.md): its elements then stay in registers, and there are enough blocks for all multiprocessors.
/// Larger blocks are divided along a parallel axis whose elements are computed one by one
/// (cpu/rewrite/grid/SplitAxis.h). nullopt: they are small enough, or no axis can be divided.
std::optional<KernelPackage> divideRows(const KernelPackage&);

}  // namespace smalti::gpu
