// Shapes up to dimensions of size 1.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "smalti/array.h"

namespace smalti::schedule {

/// For each dimension of `to` the dimension of `from` it is, or -1 for a unit dimension; empty optional when the shapes
/// differ in more than unit dimensions.
std::optional<std::vector<int>> unitReshape(std::span<const int64_t> from, std::span<const int64_t> to);
/// The dimensions that are not 1.
Shape withoutUnits(std::span<const int64_t> shape);
/// Those of them before the last dimension: what the row loops of a nest run over.
Shape rowsOf(std::span<const int64_t> shape);

}  // namespace smalti::schedule
