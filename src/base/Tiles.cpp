#include "base/Tiles.h"

#include <algorithm>

namespace smalti {

int64_t tileSize(const ArrayType& type, size_t axis) {
  constexpr int64_t kLanes = 128, kSublanes = 8, kWordBits = 32;
  const int64_t bits = type.dtype == DType::pred ? 8 : bit_width(type.dtype);
  const int64_t packing = std::max<int64_t>(kWordBits / bits, 1);
  const size_t rank = type.shape.size();
  if (rank == 1) return packing * kLanes;
  if (axis + 1 == rank) return kLanes;
  if (axis + 2 < rank) return 1;
  int64_t rows = packing;
  while (rows < std::min(type.shape[axis], kSublanes)) rows *= 2;
  return rows;
}

Shape tilePadding(const ArrayType& type) {
  if (is_semaphore(type.dtype)) return {};
  Shape padding(type.shape.size());
  bool any = false;
  for (size_t d = 0; d < padding.size(); ++d) {
    const int64_t tile = tileSize(type, d), rest = type.shape[d] % tile;
    padding[d] = rest ? tile - rest : 0;
    any |= rest != 0;
  }
  if (!any) padding.clear();
  return padding;
}

std::vector<std::optional<size_t>> unchangedDimensions(std::span<const int64_t> from, std::span<const int64_t> to) {
  std::vector<std::optional<size_t>> source(to.size());
  size_t f = from.size(), t = to.size();
  int64_t after = 1, newAfter = 1;  // elements of the dimensions from `f` and from `t` on
  while (f > 0 && t > 0) {
    const int64_t size = from[f - 1], newSize = to[t - 1];
    if (after == newAfter && size == newSize) {
      source[--t] = --f;
      after *= size;
      newAfter *= newSize;
    } else if (after < newAfter || (after == newAfter && size < newSize)) {
      after *= from[--f];
    } else {
      newAfter *= to[--t];
    }
  }
  return source;
}

Shape paddingAfterReshape(std::span<const int64_t> from, std::span<const int64_t> padding,
                          std::span<const int64_t> to) {
  if (padding.empty()) return {};
  const auto source = unchangedDimensions(from, to);
  Shape kept(to.size());
  for (size_t d = 0; d < to.size(); ++d)
    if (source[d] && keepsPadding(*source[d], from.size(), d, to.size())) kept[d] = padding[*source[d]];
  if (std::all_of(kept.begin(), kept.end(), [](int64_t p) { return p == 0; })) kept.clear();
  return kept;
}

}  // namespace smalti
