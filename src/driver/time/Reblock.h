// A kernel with blocks of another size: what a candidate for tuning is, as far as its time goes.
#pragma once

#include <optional>

#include "ir/KernelPackage.h"

namespace smalti::driver {

/// The kernel with blocks `numerator`/`denominator` times as large along a grid axis, and as many fewer steps; nullopt
/// where steps, blocks or what the body does with them do not allow that. Types of the body and the number of
/// the last step are adapted; other numbers with which it computes do not change, so that the result has the time of
/// such a kernel, not its values.
std::optional<KernelPackage> reblocked(const KernelPackage&, size_t axis, int64_t numerator, int64_t denominator);

/// The kernel with grid axes in another order: `order[i]` is the axis that becomes the i-th. nullopt if a block of
/// an output would be revisited.
std::optional<KernelPackage> reordered(const KernelPackage&, const std::vector<size_t>& order);

/// The kernel with a grid axis that cores may share.
std::optional<KernelPackage> withParallelAxis(const KernelPackage&, size_t axis);

/// The kernel with every block fetched while another one is used, as is the default.
std::optional<KernelPackage> withDoubleBuffers(const KernelPackage&);

}  // namespace smalti::driver
