#include <algorithm>
#include <cmath>

#include "eval/Reduce.h"
#include "eval/Scratch.h"
#include "eval/bits/Widen.h"
#include "eval/reduce/Kernels.h"
#include "eval/shape/Strides.h"

namespace smalti::eval {
namespace {

/// [outer, n, inner] with the middle dim searched.
struct Search {
  bool isMax;
  int64_t outer, n, inner;
};

/// `widen(at, count)`: elements as f32, valid until the next call with the same `slot`.
template <class Widen>
void searchFloats(const Search& s, Widen widen, int32_t* out) {
  const ReduceKernels& kernels = reduceKernels();
  const auto& extreme = kernels.f32[static_cast<int>(s.isMax ? ReduceKind::maximumf : ReduceKind::minimumf)];
  if (s.inner == 1) {
    for (int64_t o = 0; o < s.outer; ++o) {
      const float* row = widen(o * s.n, s.n);
      float value;
      extreme.runs(row, s.n, 1, s.n, &value);
      out[o] = static_cast<int32_t>(kernels.find(row, s.n, value));
    }
    return;
  }
  static thread_local constinit ThreadScratch bestValues;
  float* best = bestValues.get<float>(s.inner);
  for (int64_t o = 0; o < s.outer; ++o, out += s.inner) {
    std::copy_n(widen(o * s.n * s.inner, s.inner), s.inner, best);
    std::fill_n(out, s.inner, 0);
    for (int64_t k = 1; k < s.n; ++k)
      kernels.better(s.isMax, widen((o * s.n + k) * s.inner, s.inner), s.inner, static_cast<int32_t>(k), best, out);
  }
}

/// Any type with an order, element by element.
template <class T>
void searchEach(const Search& s, const T* values, int32_t* out) {
  auto beats = [&](T a, T b) {
    if (b != b) return false;
    return a != a || (s.isMax ? a > b : a < b);
  };
  for (int64_t o = 0; o < s.outer; ++o)
    for (int64_t i = 0; i < s.inner; ++i) {
      const T* column = values + o * s.n * s.inner + i;
      int64_t best = 0;
      for (int64_t k = 1; k < s.n; ++k)
        if (beats(column[k * s.inner], column[best * s.inner])) best = k;
      *out++ = static_cast<int32_t>(best);
    }
}

bool search(const Search& s, const Input& in, int32_t* out) {
  static thread_local constinit ThreadScratch widened;
  const int bytes = storage_bytes(in.dtype);
  if (is_float(in.dtype) && bytes < 8) {
    const float* direct = reinterpret_cast<const float*>(in.data);
    searchFloats(
        s,
        [&](int64_t at, int64_t count) -> const float* {
          if (bytes == 4) return direct + at;
          float* to = widened.get<float>(count);
          floatsToF32(in.dtype, in.data + at * bytes, to, count);
          return to;
        },
        out);
    return true;
  }
  if (in.dtype == DType::f64) return searchEach(s, reinterpret_cast<const double*>(in.data), out), true;
  const bool isUnsigned = is_unsigned_integer(in.dtype) || in.dtype == DType::pred;
  if (bytes == 8) {
    if (isUnsigned)
      searchEach(s, reinterpret_cast<const uint64_t*>(in.data), out);
    else
      searchEach(s, reinterpret_cast<const int64_t*>(in.data), out);
    return true;
  }
  const int64_t count = in.elements();
  int32_t* values = widened.get<int32_t>(count);
  integersToI32(in.dtype, isUnsigned, in.data, values, count);
  if (isUnsigned)
    searchEach(s, reinterpret_cast<const uint32_t*>(values), out);
  else
    searchEach(s, values, out);
  return true;
}

}  // namespace

bool reduceIndex(bool isMax, Input in, int axis, Output out) {
  if (!is_integer(out.dtype) || bit_width(out.dtype) > 32 || is_semaphore(in.dtype)) return false;
  const int64_t count = out.elements();
  if (count == 0) return true;
  const int rank = static_cast<int>(in.shape.size());
  const Search s{isMax, productOf(in.shape, 0, axis), in.shape[axis], productOf(in.shape, axis + 1, rank)};
  static thread_local constinit ThreadScratch results;
  const bool isWide = bit_width(out.dtype) == 32;
  int32_t* indices = isWide ? reinterpret_cast<int32_t*>(out.data) : results.get<int32_t>(count);
  if (in.splat || s.n == 0)
    std::fill_n(indices, count, 0);
  else if (!search(s, in, indices))
    return false;
  if (!isWide) integersFromI32(out.dtype, indices, out.data, count);
  return true;
}

}  // namespace smalti::eval
