#include <vector>

#include "eval/Reduce.h"
#include "eval/bits/Widen.h"
#include "eval/shape/Strides.h"

namespace smalti::eval {
namespace {

template <class T>
bool beats(bool isMax, T candidate, T best) {
  if (best != best) return false;
  if (candidate != candidate) return true;
  return isMax ? candidate > best : candidate < best;
}

template <class T>
void firstExtremes(bool isMax, const T* values, int64_t outer, int64_t n, int64_t inner, int32_t* out) {
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      const T* column = values + o * n * inner + i;
      int64_t best = 0;
      for (int64_t k = 1; k < n; ++k)
        if (beats(isMax, column[k * inner], column[best * inner])) best = k;
      *out++ = static_cast<int32_t>(best);
    }
}

}  // namespace

bool reduceIndex(bool isMax, Input in, int axis, Output out) {
  if (!is_integer(out.dtype) || bit_width(out.dtype) > 32) return false;
  const int rank = static_cast<int>(in.shape.size());
  const int64_t outer = productOf(in.shape, 0, axis), n = in.shape[axis], inner = productOf(in.shape, axis + 1, rank);
  std::vector<int32_t> indices(out.elements(), 0);
  const int64_t count = in.elements();
  if (!in.splat && n > 0) {
    if (is_float(in.dtype) && in.dtype != DType::f64) {
      std::vector<float> values(count);
      floatsToF32(in.dtype, in.data, values.data(), count);
      firstExtremes(isMax, values.data(), outer, n, inner, indices.data());
    } else if (is_integer(in.dtype) && bit_width(in.dtype) <= 32) {
      std::vector<int32_t> values(count);
      integersToI32(in.dtype, is_unsigned_integer(in.dtype), in.data, values.data(), count);
      if (is_unsigned_integer(in.dtype))
        firstExtremes(isMax, reinterpret_cast<const uint32_t*>(values.data()), outer, n, inner, indices.data());
      else
        firstExtremes(isMax, values.data(), outer, n, inner, indices.data());
    } else {
      return false;
    }
  }
  integersFromI32(out.dtype, indices.data(), out.data, out.elements());
  return true;
}

}  // namespace smalti::eval
