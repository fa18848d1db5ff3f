// The grid of one call, whose bounds may be dynamic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "smalti/array.h"

namespace smalti {

/// The bounds of leading grid axes in a call: dynamic ones (kDynamicBound) are its leading i32 operands (S-A4).
std::vector<int64_t> boundsOfCall(std::span<const int64_t> bounds, std::span<const Array> operands);

/// The number of points, 1 without axes, 0 if a bound is not positive; at most INT64_MAX.
int64_t gridPoints(std::span<const int64_t> bounds);

}  // namespace smalti
