#include "driver/time/HbmLayout.h"

#include "base/Arithmetic.h"

#include <algorithm>
#include <numeric>

namespace smalti::driver {
namespace {

constexpr int64_t kLanes = 128, kRows = 8;

/// Rows of a tile: fewer than eight where the array has fewer.
int64_t tileRows(int64_t bits, int64_t rows) {
  int64_t tile = std::max<int64_t>(1, 32 / std::max<int64_t>(bits, 1));
  while (tile < kRows && tile < rows) tile *= 2;
  return std::min(tile, std::max(kRows, 32 / std::max<int64_t>(bits, 1)));
}

double paddedElements(const ArrayType& t, size_t lanes, size_t rows) {
  double n = 1;
  const int64_t bits = bit_width(t.dtype);
  for (size_t d = 0; d < t.shape.size(); ++d) {
    const int64_t size = t.shape[d];
    n *= static_cast<double>(d == lanes  ? roundUp(size, kLanes)
                             : d == rows ? roundUp(size, tileRows(bits, size))
                                         : size);
  }
  return n;
}

HbmLayout withoutUnits(const HbmLayout& layout, const Shape& shape) {
  HbmLayout out;
  std::copy_if(layout.begin(), layout.end(), std::back_inserter(out), [&](size_t d) { return shape[d] != 1; });
  return out;
}

}  // namespace

HbmLayout rowMajor(size_t rank) {
  HbmLayout out(rank);
  std::iota(out.rbegin(), out.rend(), size_t{0});
  return out;
}

HbmLayout compact(const ArrayType& t) {
  const size_t rank = t.shape.size();
  if (rank < 2) return rowMajor(rank);
  double least = -1;
  size_t lanes = 0, rows = 0;
  for (size_t l = rank; l-- > 0;)
    for (size_t r = rank; r-- > 0;) {
      if (l == r) continue;
      const double elements = paddedElements(t, l, r);
      if (least >= 0 && elements >= least) continue;
      least = elements;
      lanes = l;
      rows = r;
    }
  HbmLayout out{lanes, rows};
  for (size_t d = rank; d-- > 0;)
    if (d != lanes && d != rows) out.push_back(d);
  return out;
}

double bytesIn(const HbmLayout& layout, const ArrayType& t) {
  const double bytes = static_cast<double>(bit_width(t.dtype)) / 8;
  if (layout.size() < 2 || layout.size() != t.shape.size()) return static_cast<double>(t.elements()) * bytes;
  return paddedElements(t, layout[0], layout[1]) * bytes;
}

bool isSame(const HbmLayout& a, const HbmLayout& b, const Shape& shape) {
  return withoutUnits(a, shape) == withoutUnits(b, shape);
}

bool movesLanes(const HbmLayout& a, const HbmLayout& b, const Shape& shape) {
  const HbmLayout x = withoutUnits(a, shape), y = withoutUnits(b, shape);
  return !x.empty() && !y.empty() && x.front() != y.front();
}

}  // namespace smalti::driver
