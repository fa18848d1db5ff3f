// Shapes compared without their dimensions of size 1.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "smalti/array.h"

namespace smalti::schedule {

/// For each dimension of `to`, the corresponding dimension of `from`, or -1 for a unit dimension; nullopt if the shapes
/// differ in more than unit dimensions.
std::optional<std::vector<int>> unitReshape(std::span<const int64_t> from, std::span<const int64_t> to);
/// The shape without dimensions of size 1.
Shape withoutUnits(std::span<const int64_t> shape);
/// The shape without dimensions of size 1 and without the last dimension: the row loops of a nest.
Shape rowsOf(std::span<const int64_t> shape);

}  // namespace smalti::schedule
