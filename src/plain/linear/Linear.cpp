// cholesky and triangular_solve, of real and complex matrices. They are computed in f64 and rounded once.
#include <array>
#include <limits>

#include "plain/linear/WideMatrices.h"

namespace smalti::plain {
namespace {

/// Each matrix becomes its conjugate transpose.
template <class T>
void adjoint(T* a, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    a[i * n + i] = conjugate(a[i * n + i]);
    for (int64_t j = 0; j < i; ++j) {
      const T below = a[i * n + j];
      a[i * n + j] = conjugate(a[j * n + i]);
      a[j * n + i] = conjugate(below);
    }
  }
}

/// If a matrix is not positive definite, the result is all NaN, as in JAX.
template <class T>
PlainResults choleskyOf(PlainCall& call) {
  const Extents e(call.operands[0].shape());
  const bool lower = call.typed().boolean("lower");
  auto wide = widened<T>(call.operands[0], call);
  if (!wide) return fail(std::move(wide.error()));
  forMatrices(call, e.batch, e.n * e.n * e.n / 6, [&](int64_t b) {
    T* matrix = wide->data() + b * e.n * e.n;
    if (!lower) adjoint(matrix, e.n);
    if (!matrixKernels<T>().cholesky(matrix, e.n))
      std::fill_n(matrix, e.n * e.n, T(std::numeric_limits<double>::quiet_NaN()));
    if (!lower) adjoint(matrix, e.n);
  });
  return oneOf(narrowed(*wide, call));
}

template <class T>
PlainResults solve(PlainCall& call) {
  const TypedOp op = call.typed();
  const Extents e(call.operands[1].shape());
  const bool left = op.boolean("left_side");
  const Triangle triangle{.lower = op.boolean("lower"),
                          .unitDiagonal = op.boolean("unit_diagonal"),
                          .transposed = op.text("transpose_a") != "NO_TRANSPOSE",
                          .conjugated = op.text("transpose_a") == "ADJOINT"};
  const auto a = widened<T>(call.operands[0], call);
  auto b = widened<T>(call.operands[1], call);
  if (!a || !b) return fail(std::move(a ? b.error() : a.error()));
  if (b->empty()) return oneOf(narrowed(*b, call));
  const int64_t n = call.operands[0].shape().back();
  forMatrices(call, e.batch, e.m * e.n * n / 2, [&](int64_t at) {
    matrixKernels<T>().solve(a->data() + at * n * n, triangle, left, b->data() + at * e.m * e.n, e.m, e.n);
  });
  return oneOf(narrowed(*b, call));
}

constexpr std::array kLinearEvaluators{
    EvaluatorRow{"cholesky", ofRealOrComplex<choleskyOf<double>, choleskyOf<Complex>>},
    EvaluatorRow{"triangular_solve", ofRealOrComplex<solve<double>, solve<Complex>>},
};

}  // namespace

std::span<const EvaluatorRow> linearEvaluators() { return kLinearEvaluators; }

}  // namespace smalti::plain
