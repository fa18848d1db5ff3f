#include <type_traits>

#include "eval/FloatFormats.h"
#include "eval/Shape.h"
#include "eval/shape/Strides.h"

namespace smalti::eval {
namespace {

/// Calls row(base, step) for every row along the last dim, in order: element j of it is base + j * step.
template <class F>
void forEachRow(Dims dims, Dims shape, F row) {
  const int rank = static_cast<int>(shape.size());
  DimList weights(rank, 0);
  int64_t weight = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    weights[dims[i]] = weight;
    weight *= shape[dims[i]];
  }
  if (rank == 0) return row(0, 0);
  Odometer<1> at(shape.first(rank - 1), {Dims(weights).first(rank - 1)});
  do row(at.offset(0), weights[rank - 1]);
  while (at.next());
}

template <class T>
void iotaWords(Dims dims, const Output& out, int64_t n) {
  T* to = reinterpret_cast<T*>(out.data);
  forEachRow(dims, out.shape, [&](int64_t base, int64_t step) {
    using Wide = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;  // wraps as T does
    const Wide b = static_cast<Wide>(base), s = static_cast<Wide>(step);
    for (int64_t j = 0; j < n; ++j) to[j] = static_cast<T>(b + static_cast<Wide>(j) * s);
    to += n;
  });
}

/// Types whose elements are not plain binary integers of their storage: computed one by one.
template <class F>
void iotaEach(Dims dims, const Output& out, int64_t n, F store) {
  std::byte* to = out.data;
  forEachRow(dims, out.shape, [&](int64_t base, int64_t step) {
    for (int64_t j = 0; j < n; ++j, to += storage_bytes(out.dtype)) store(base + j * step, to);
  });
}

}  // namespace

void iota(Dims dims, Output out) {
  if (out.elements() == 0) return;
  const int64_t n = out.shape.empty() ? 1 : out.shape.back();
  const int bits = bit_width(out.dtype);
  if (is_float(out.dtype))
    return iotaEach(dims, out, n,
                    [&](int64_t i, std::byte* to) { elementFromDouble(out.dtype, static_cast<double>(i), to); });
  if (bits < 8) {
    const bool isSigned = is_signed_integer(out.dtype);
    return iotaEach(dims, out, n, [&](int64_t i, std::byte* to) {
      const uint8_t low = static_cast<uint8_t>(i & ((1 << bits) - 1));
      *to = std::byte(isSigned && (low >> (bits - 1)) ? low | (0xff << bits) : low);
    });
  }
  switch (storage_bytes(out.dtype)) {
    case 1:
      return iotaWords<uint8_t>(dims, out, n);
    case 2:
      return iotaWords<uint16_t>(dims, out, n);
    case 4:
      return iotaWords<uint32_t>(dims, out, n);
    default:
      return iotaWords<uint64_t>(dims, out, n);
  }
}

}  // namespace smalti::eval
