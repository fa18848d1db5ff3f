// Tiles: in HBM, arrays of two or more dimensions occupy whole tiles of the last two, arrays of one whole lanes.
// Copies may reach into what the last tile holds past the array's end: undefined when read, dropped when written.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "smalti/array.h"

namespace smalti {

/// Elements of one tile along an axis of an array in HBM, as JAX infers them.
int64_t tileSize(const ArrayType&, size_t axis);
/// Elements per axis between the array's end and that of its last tile; empty when there are none.
Shape tilePadding(const ArrayType&);

/// For each dimension of `to` the dimension of `from` that it is: of the same size, with as many elements after it.
/// nullopt for dimensions that are split or joined, and for new ones of size 1. The shapes have equally many elements.
std::vector<std::optional<size_t>> unchangedDimensions(std::span<const int64_t> from, std::span<const int64_t> to);
/// Tiles cover the last two dimensions: does a dimension keep its padding where a view has it as another one?
constexpr bool keepsPadding(size_t dimension, size_t rank, size_t newDimension, size_t newRank) {
  return rank - dimension == newRank - newDimension;
}
/// The padding of an array after a reshape. Dimensions that are split or joined lose theirs: TPU compilers split and
/// join rows only at multiples of the tile, where there is none. Empty when there is none.
Shape paddingAfterReshape(std::span<const int64_t> from, std::span<const int64_t> padding, std::span<const int64_t> to);

}  // namespace smalti
