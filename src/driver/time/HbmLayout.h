// The order in which XLA stores the dimensions of an array in HBM, and the padding of its tiles.
#pragma once

#include <vector>

#include "smalti/array.h"

namespace smalti::driver {

/// Dimensions from the one whose elements are neighbours to the outermost, as XLA writes `{1,0}`.
using HbmLayout = std::vector<size_t>;

/// The layout of kernels' operands and results: the last dimension's elements are neighbours.
HbmLayout rowMajor(size_t rank);
/// The layout that XLA chooses for inputs and results of a program: the two inner dimensions that make the padded array
/// smallest, the last ones of equal ones (libtpu was queried for 294 shapes).
HbmLayout compact(const ArrayType&);
/// Bytes with tiles of 128 lanes filled up.
double bytesIn(const HbmLayout&, const ArrayType&);
/// Whether bytes stay where they are from one layout to the other; dimensions of size 1 do not count.
bool isSame(const HbmLayout&, const HbmLayout&, const Shape&);
/// Whether other elements become neighbours.
bool movesLanes(const HbmLayout&, const HbmLayout&, const Shape&);

}  // namespace smalti::driver
