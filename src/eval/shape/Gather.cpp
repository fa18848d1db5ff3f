#include <cstring>

#include "eval/Shape.h"
#include "eval/shape/Strides.h"

namespace smalti::eval {
namespace {

struct Plan {
  DimList outer;                    // all dims of the result but the last
  DimList sourceOuter, indexOuter;  // their strides: 0 along gathered dims of the source
  int64_t inner = 1, sourceInner = 0, indexInner = 0;
  DimList sizes, strides;  // of the gathered dims of the source
  uint64_t total = 1;
  uint64_t indexMask = ~uint64_t{0};
};

/// Offset in the source that linear index `i` over the gathered dims stands for.
int64_t sourceOffset(const Plan& p, uint64_t i) {
  int64_t offset = 0;
  for (int d = p.sizes.size() - 1; d > 0; --d) {
    offset += static_cast<int64_t>(i % p.sizes[d]) * p.strides[d];
    i /= p.sizes[d];
  }
  return offset + static_cast<int64_t>(i) * p.strides[0];
}

template <class T, class Index>
void gatherTyped(const Plan& p, const std::byte* sourceBytes, const std::byte* indexBytes, std::byte* outBytes) {
  const T* source = reinterpret_cast<const T*>(sourceBytes);
  const Index* indices = reinterpret_cast<const Index*>(indexBytes);
  T* out = reinterpret_cast<T*>(outBytes);
  const bool single = p.sizes.size() == 1;
  Odometer<2> at(p.outer, {Dims(p.sourceOuter), Dims(p.indexOuter)});
  do {
    const T* row = source + at.offset(0);
    const Index* index = indices + at.offset(1);
    for (int64_t j = 0; j < p.inner; ++j) {
      uint64_t i = static_cast<uint64_t>(index[j * p.indexInner]) & p.indexMask;
      if (i >= p.total) i %= p.total;
      const int64_t offset = single ? static_cast<int64_t>(i) * p.strides[0] : sourceOffset(p, i);
      *out++ = row[j * p.sourceInner + offset];
    }
  } while (at.next());
}

template <class T>
void gatherElements(const Plan& p, const Input& in, const Input& indices, const Output& out) {
  switch (storage_bytes(indices.dtype)) {
    case 1:
      return gatherTyped<T, uint8_t>(p, in.data, indices.data, out.data);
    case 2:
      return gatherTyped<T, uint16_t>(p, in.data, indices.data, out.data);
    case 4:
      return gatherTyped<T, uint32_t>(p, in.data, indices.data, out.data);
    default:
      return gatherTyped<T, uint64_t>(p, in.data, indices.data, out.data);
  }
}

}  // namespace

void dynamicGather(Input in, Input indices, Dims dims, Output out) {
  const int bytes = storage_bytes(out.dtype);
  if (out.elements() == 0) return;
  if (in.splat || dims.empty()) {
    if (in.splat) return fill(out.data, in.data, out.elements(), bytes);
    return copyStrided(in.data, rowMajorStrides(in.shape), out.data, rowMajorStrides(out.shape), out.shape, bytes);
  }
  Plan p;
  DimList sourceStrides = rowMajorStrides(in.shape);
  const DimList indexStrides =
      indices.splat ? DimList(static_cast<int>(out.shape.size()), 0) : rowMajorStrides(out.shape);
  for (int64_t d : dims) {
    p.sizes.push(in.shape[d]);
    p.strides.push(sourceStrides[d]);
    p.total *= in.shape[d];
  }
  if (p.total == 0) {  // nothing to take from
    std::memset(out.data, 0, out.elements() * bytes);
    return;
  }
  for (int64_t d : dims) sourceStrides[d] = 0;
  if (bit_width(indices.dtype) < 8) p.indexMask = (uint64_t{1} << bit_width(indices.dtype)) - 1;
  const int last = static_cast<int>(out.shape.size()) - 1;
  for (int d = 0; d < last; ++d) {
    p.outer.push(out.shape[d]);
    p.sourceOuter.push(sourceStrides[d]);
    p.indexOuter.push(indexStrides[d]);
  }
  p.inner = out.shape[last];
  p.sourceInner = sourceStrides[last];
  p.indexInner = indexStrides[last];
  switch (bytes) {
    case 1:
      return gatherElements<uint8_t>(p, in, indices, out);
    case 2:
      return gatherElements<uint16_t>(p, in, indices, out);
    case 4:
      return gatherElements<uint32_t>(p, in, indices, out);
    default:
      return gatherElements<uint64_t>(p, in, indices, out);
  }
}

}  // namespace smalti::eval
