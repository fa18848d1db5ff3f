// Constant propagation through plain ops: what kernels' grids and index maps are computed from.
#pragma once

#include <optional>
#include <vector>

#include "ir/program/Program.h"

namespace smalti::driver {

/// By ValueId of a function; nullopt: not known.
using KnownValues = std::vector<std::optional<Array>>;

/// The results of an op that is not a kernel; nullopt: they are not known, or larger than is worth while. Loops,
/// branches and calls are followed where what decides them is known.
std::optional<std::vector<Array>> evaluateKnown(const Program&, const Function&, const Op&, KnownValues&);

/// The number of the region that a "case" or "if" runs.
size_t chosenBranch(const Op&, const Array& index);

}  // namespace smalti::driver
