// Dense arrays whose last dimension is contiguous.
#pragma once

#include <cstdint>
#include <span>

#include "smalti/array.h"

namespace smalti {

/// Strides of such an array, in elements: one per dimension. `strides` has as many places as `shape`.
inline void rowMajorStrides(std::span<const int64_t> shape, std::span<int64_t> strides) {
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0; step *= shape[d]) strides[d] = step;
}
inline Shape rowMajorStrides(std::span<const int64_t> shape) {
  Shape strides(shape.size());
  rowMajorStrides(shape, strides);
  return strides;
}

}  // namespace smalti
