#include "tpu/Tiling.h"

#include "base/Arithmetic.h"

#include <algorithm>
#include <bit>

namespace smalti::tpu {

int64_t elementBits(DType dtype) { return dtype == DType::pred ? 32 : std::min(bit_width(dtype), 32); }
int64_t packingOf(DType dtype) { return 32 / elementBits(dtype); }

int64_t tileRows(const Chip& chip, DType dtype, int64_t rows) {
  const int64_t bits = elementBits(dtype);
  if (rows < chip.tiles.rows32)  // a small array has small tiles
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max(rows, packingOf(dtype)))));
  const int64_t large = bits == 32   ? chip.tiles.rows32
                        : bits == 16 ? chip.tiles.rows16
                        : bits == 8  ? chip.tiles.rows8
                                     : chip.tiles.rows4;
  return rows % large == 0 ? large : chip.tiles.rows32;
}

int64_t tileElements(DType dtype) { return kLanes * packingOf(dtype); }

int64_t paddedBytes(const Chip& chip, const ArrayType& t) {
  const int64_t bits = elementBits(t.dtype);
  if (t.shape.empty()) return 0;
  if (t.shape.size() == 1) return roundUp(t.shape[0], tileElements(t.dtype)) * bits / 8;
  const int64_t rows = t.shape[t.shape.size() - 2];
  int64_t elements = roundUp(rows, tileRows(chip, t.dtype, rows)) * roundUp(t.shape.back(), kLanes);
  for (size_t i = 0; i + 2 < t.shape.size(); ++i) elements *= t.shape[i];
  return elements * bits / 8;
}

}  // namespace smalti::tpu
