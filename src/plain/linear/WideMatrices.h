// Matrices in f64, in which factors of matrices are computed before they are rounded once.
#pragma once

#include <algorithm>
#include <vector>

#include "eval/Elementwise.h"
#include "plain/PlainEvaluators.h"
#include "plain/linear/Kernels.h"

namespace smalti::plain {

inline double conjugate(double x) { return x; }
inline Complex conjugate(Complex x) { return std::conj(x); }

/// Elements as T, whose parts are f64.
template <class T>
Result<std::vector<T>> widened(const Array& array, const PlainCall& call) {
  const auto kernel = eval::findArrayConvert(part_of(array.dtype()), DType::f64);
  if (!kernel) return fail(noEvaluation(call, array.dtype()));
  std::vector<T> wide(static_cast<size_t>(array.elements()));
  kernel(array.data(), wide.data(), array.elements() * static_cast<int64_t>(sizeof(T) / sizeof(double)));
  return wide;
}

/// A result of the call.
template <class T>
Result<Array> narrowed(const std::vector<T>& wide, const PlainCall& call, size_t result = 0) {
  auto array = Array::allocate(call.results[result]);
  if (!array) return fail(std::move(array.error()));
  eval::findArrayConvert(DType::f64, part_of(array->dtype()))(
      wide.data(), array->data(), array->elements() * static_cast<int64_t>(sizeof(T) / sizeof(double)));
  return array;
}

/// The matrices of an array, each of m rows and n columns.
struct Extents {
  int64_t batch = 1, m, n;
  explicit Extents(const Shape& shape) : m(shape[shape.size() - 2]), n(shape.back()) {
    for (size_t d = 0; d + 2 < shape.size(); ++d) batch *= shape[d];
  }
  int64_t smaller() const { return std::min(m, n); }
};

/// Calls work(b) for each matrix b of a batch; `steps`: multiply-adds of one. Threads share the batch.
template <class Work>
void forMatrices(const PlainCall& call, int64_t batch, int64_t steps, const Work& work) {
  shareInPieces(call.share, batch, 1, batch * steps, [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b) work(b);
  });
}

/// Calls one of two evaluators, by the first operand.
template <PlainEvaluator real, PlainEvaluator complex>
PlainResults ofRealOrComplex(PlainCall& call) {
  return is_complex(call.operands[0].dtype()) ? complex(call) : real(call);
}

}  // namespace smalti::plain
