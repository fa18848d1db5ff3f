#include "ir/BlockGeometry.h"

#include <algorithm>
#include <utility>

namespace smalti {

BlockGeometry::BlockGeometry(const Window& window, Shape array, bool padded)
    : bounds_(window.bounds),
      array_(std::move(array)),
      padLow_(window.padLow),
      padHigh_(window.padHigh),
      element_(window.elementIndexed),
      padded_(padded) {
  padLow_.resize(bounds_.size(), 0);
  padHigh_.resize(bounds_.size(), 0);
}

void BlockGeometry::place(std::span<const int64_t> block, BlockRegion& region) const {
  const size_t rank = bounds_.size();
  region.arrayStart.resize(rank);
  region.windowStart.resize(rank);
  region.size.resize(rank);
  region.full = true;
  region.empty = false;
  for (size_t d = 0; d < rank; ++d) {
    int64_t at = start(block, d);
    if (padded_) at = std::clamp<int64_t>(at, 0, std::max<int64_t>(0, array_[d] - bounds_[d]));
    const int64_t begin = std::max<int64_t>(at, 0), end = std::max(begin, std::min(at + bounds_[d], array_[d]));
    region.arrayStart[d] = begin;
    region.windowStart[d] = begin - at;
    region.size[d] = end - begin;
    region.full &= region.size[d] == bounds_[d];
    region.empty |= region.size[d] == 0;
  }
}

bool BlockGeometry::outside(std::span<const int64_t> block) const {
  for (size_t d = 0; d < bounds_.size(); ++d) {
    const int64_t at = start(block, d);
    if (bounds_[d] == 0 || array_[d] == 0) continue;
    if (at >= array_[d] + padHigh_[d] || at + bounds_[d] <= -padLow_[d]) return true;
  }
  return false;
}

int64_t BlockGeometry::numBlocks(size_t d) const {
  return bounds_[d] == 0 ? 0 : (array_[d] + bounds_[d] - 1) / bounds_[d];
}

int64_t BlockGeometry::numWholeBlocks(size_t d) const {
  if (element_) return std::max<int64_t>(array_[d] - bounds_[d] + 1, 0);
  return bounds_[d] == 0 ? 0 : array_[d] / bounds_[d];
}

bool BlockGeometry::hasPartialBlock(size_t d) const {
  return element_ || bounds_[d] == 0 || array_[d] == 0 || array_[d] % bounds_[d] != 0;
}

Shape BlockGeometry::paddedShape() const {
  Shape shape = array_;
  for (size_t d = 0; d < shape.size(); ++d)
    shape[d] = element_          ? std::max(array_[d] + padLow_[d] + padHigh_[d], bounds_[d])
               : bounds_[d] == 0 ? array_[d]
                                 : std::max<int64_t>(1, numBlocks(d)) * bounds_[d];
  return shape;
}

Shape BlockGeometry::paddedStart() const { return element_ ? padLow_ : Shape(bounds_.size(), 0); }

}  // namespace smalti
