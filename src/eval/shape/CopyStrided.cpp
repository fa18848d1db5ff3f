// The one copy that every data movement ends in: normalise the dims, then choose the inner loop.
#include <cstdlib>
#include <cstring>
#include <utility>

#include "eval/Shape.h"
#include "eval/shape/Strides.h"
#include "eval/shape/TransposeTile.h"

namespace smalti::eval {
namespace {

struct Dim {
  int64_t size, src, dst;  // strides in elements
};

/// Dims worth walking, outermost first.
struct View {
  std::array<Dim, kMaxDims> dims;
  int rank = 0;
};

/// Drops dims of size 1, orders by destination stride and merges dims that are one run in both views.
View normalise(Dims srcStrides, Dims dstStrides, Dims shape) {
  View v;
  bool mayReorder = true;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    v.dims[v.rank++] = {shape[d], srcStrides[d], dstStrides[d]};
    mayReorder &= dstStrides[d] != 0;  // elements written twice: the last in row-major order stays
  }
  if (mayReorder)
    for (int d = 1; d < v.rank; ++d)  // insertion sort: mostly nothing to do
      for (int e = d; e > 0 && std::abs(v.dims[e].dst) > std::abs(v.dims[e - 1].dst); --e)
        std::swap(v.dims[e], v.dims[e - 1]);
  int merged = 0;
  for (int d = 0; d < v.rank; ++d) {
    const Dim& inner = v.dims[d];
    if (merged > 0) {
      Dim& outer = v.dims[merged - 1];
      if (outer.src == inner.src * inner.size && outer.dst == inner.dst * inner.size) {
        outer = {outer.size * inner.size, inner.src, inner.dst};
        continue;
      }
    }
    v.dims[merged++] = inner;
  }
  v.rank = merged;
  return v;
}

/// Rows of `n` elements of type T: outer × n elements with the given strides.
template <class T>
void copyRows(const T* src, T* dst, const Dim& outer, const Dim& inner) {
  for (int64_t i = 0; i < outer.size; ++i, src += outer.src, dst += outer.dst) {
    if (inner.dst == 1 && inner.src == 0) {
      const T value = *src;
      for (int64_t j = 0; j < inner.size; ++j) dst[j] = value;
    } else if (inner.dst == 1) {
      for (int64_t j = 0; j < inner.size; ++j) dst[j] = src[j * inner.src];
    } else {
      for (int64_t j = 0; j < inner.size; ++j) dst[j * inner.dst] = src[j * inner.src];
    }
  }
}

template <class T>
void copyRuns(const T* src, T* dst, const Dim& outer, int64_t run) {
  if (run * sizeof(T) >= 64) {
    for (int64_t i = 0; i < outer.size; ++i) std::memcpy(dst + i * outer.dst, src + i * outer.src, run * sizeof(T));
  } else {
    for (int64_t i = 0; i < outer.size; ++i)
      for (int64_t j = 0; j < run; ++j) dst[i * outer.dst + j] = src[i * outer.src + j];
  }
}

template <class T>
void copyTyped(const std::byte* srcBytes, std::byte* dstBytes, View v) {
  const T* src = reinterpret_cast<const T*>(srcBytes);
  T* dst = reinterpret_cast<T*>(dstBytes);
  while (v.rank < 2) {  // a missing outer dim is one of size 1
    for (int d = v.rank; d > 0; --d) v.dims[d] = v.dims[d - 1];
    v.dims[0] = {1, 0, 0};
    if (v.rank++ == 0) v.dims[0] = {1, 1, 1};
  }
  // For a transposition, bring the dim along which the source is contiguous next to the innermost.
  const Dim inner = v.dims[v.rank - 1];
  int partner = v.rank - 2;
  if (inner.dst == 1 && inner.src != 1 && inner.src != 0)
    for (int d = 0; d < v.rank - 1; ++d)
      if (v.dims[d].src == 1) partner = d;
  const Dim outer = v.dims[partner];
  for (int d = partner; d + 2 < v.rank; ++d) v.dims[d] = v.dims[d + 1];
  const bool isTransposition = outer.src == 1 && inner.dst == 1 && inner.src != 1 && inner.src != 0;

  DimList shape, srcStrides, dstStrides;
  for (int d = 0; d < v.rank - 2; ++d) {
    shape.push(v.dims[d].size);
    srcStrides.push(v.dims[d].src);
    dstStrides.push(v.dims[d].dst);
  }
  Odometer<2> at(shape, {Dims(srcStrides), Dims(dstStrides)});
  do {
    const T* s = src + at.offset(0);
    T* t = dst + at.offset(1);
    if (inner.src == 1 && inner.dst == 1)
      copyRuns(s, t, outer, inner.size);
    else if (isTransposition)
      transposeTile(s, inner.src, t, outer.dst, outer.size, inner.size);
    else
      copyRows(s, t, outer, inner);
  } while (at.next());
}

}  // namespace

void copyStrided(const std::byte* src, Dims srcStrides, std::byte* dst, Dims dstStrides, Dims shape, int elementBytes) {
  if (num_elements(shape) == 0) return;
  switch (elementBytes) {
    case 1:
      return copyTyped<uint8_t>(src, dst, normalise(srcStrides, dstStrides, shape));
    case 2:
      return copyTyped<uint16_t>(src, dst, normalise(srcStrides, dstStrides, shape));
    case 4:
      return copyTyped<uint32_t>(src, dst, normalise(srcStrides, dstStrides, shape));
    case 8:
      return copyTyped<uint64_t>(src, dst, normalise(srcStrides, dstStrides, shape));
    default:
      break;
  }
  // Any other size: the bytes of an element are one more dim.
  DimList s(srcStrides), t(dstStrides), n(shape);
  for (int d = 0; d < n.size(); ++d) s[d] *= elementBytes, t[d] *= elementBytes;
  s.push(1), t.push(1), n.push(elementBytes);
  copyTyped<uint8_t>(src, dst, normalise(s, t, n));
}

}  // namespace smalti::eval
