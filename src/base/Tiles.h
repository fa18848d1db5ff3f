// Tiles: in HBM, arrays of two or more dimensions occupy whole tiles of the last two, arrays of one whole lanes.
// Copies may reach into what the last tile holds past the array's end: undefined when read, dropped when written.
#pragma once

#include "smalti/array.h"

namespace smalti {

/// Elements of one tile along an axis of an array in HBM, as JAX infers them.
int64_t tileSize(const ArrayType&, size_t axis);
/// Elements per axis between the array's end and that of its last tile; empty when there are none.
Shape tilePadding(const ArrayType&);

}  // namespace smalti
