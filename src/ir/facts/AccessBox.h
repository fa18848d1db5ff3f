// The region of a ref that a load or store accesses.
#pragma once

#include <cstdint>
#include <vector>

#include <tl/expected.hpp>

#include "mlir/IR/Operation.h"
#include "smalti/array.h"

namespace smalti {

/// Every `steps`-th element, `sizes` of them, in each dimension of the ref, from the op's indices on.
struct AccessBox {
  Shape sizes;
  std::vector<int64_t> steps;  ///< empty: 1

  int64_t step(size_t d) const { return steps.empty() ? 1 : steps[d]; }
  bool isEmpty() const { return num_elements(sizes) == 0; }
  /// Elements from the first one accessed to the last along a dimension that is not empty; INT64_MAX: too many to
  /// count.
  int64_t span(size_t d) const;
};

/// `indices`: how many the op has; `value`: the shape of what is loaded or stored, which may lack leading dimensions of
/// size 1 (of a scalar: empty). The error is the reason why compilers do not follow the op.
tl::expected<AccessBox, const char*> accessBoxOf(mlir::Operation&, size_t refRank, size_t indices, const Shape& value);

}  // namespace smalti
