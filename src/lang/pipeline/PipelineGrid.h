// The points of a pipeline's grid, last axis fastest.
#pragma once

#include <vector>

#include "smalti/specs.h"

namespace smalti::lang {

using GridPoint = std::vector<Array>;

class PipelineGrid {
 public:
  /// Error SM6520: a size that is not positive.
  explicit PipelineGrid(const std::vector<GridDim>&);

  const std::vector<Array>& sizes() const { return sizes_; }
  /// Static sizes; INT64_MIN where dynamic.
  const std::vector<int64_t>& bounds() const { return bounds_; }
  /// Product of the sizes.
  const Array& steps() const { return steps_; }
  GridPoint first() const;
  GridPoint next(const GridPoint&) const;
  GridPoint previous(const GridPoint&) const;
  /// Axes of size 1 as the number 0.
  GridPoint simplified(GridPoint) const;

 private:
  std::vector<Array> sizes_;
  std::vector<int64_t> bounds_;
  Array steps_;
};

}  // namespace smalti::lang
