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

}  // namespace smalti
