#include "ir/facts/GridBounds.h"

#include <algorithm>

#include "ir/KernelPackage.h"

namespace smalti {

std::vector<int64_t> boundsOfCall(std::span<const int64_t> bounds, std::span<const Array> operands) {
  std::vector<int64_t> made(bounds.begin(), bounds.end());
  size_t next = 0;
  for (int64_t& bound : made)
    if (bound == kDynamicBound) bound = *operands[next++].as<int32_t>();
  return made;
}

int64_t gridPoints(std::span<const int64_t> bounds) {
  if (std::ranges::any_of(bounds, [](int64_t bound) { return bound <= 0; })) return 0;
  int64_t points = 1;
  for (const int64_t bound : bounds)
    if (__builtin_mul_overflow(points, bound, &points)) return INT64_MAX;
  return points;
}

}  // namespace smalti
