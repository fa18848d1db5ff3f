// cholesky and triangular_solve, of real and complex matrices. They are computed in f64 and rounded once.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "plain/ComplexNumbers.h"
#include "plain/PlainEvaluators.h"
#include "plain/WideMatrices.h"

namespace smalti::plain {
namespace {

/// Σ x[k] · conj(y[k]), in several sums that do not wait for each other.
template <class T>
T sumOfProducts(const T* x, const T* y, int64_t n) {
  std::array<T, 4> sums{};
  int64_t k = 0;
  for (; k + 4 <= n; k += 4)
    for (int64_t i = 0; i < 4; ++i) sums[i] += product(x[k + i], conjugate(y[k + i]));
  for (; k < n; ++k) sums[0] += product(x[k], conjugate(y[k]));
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// The lower factor of the n×n matrix whose lower triangle `a` holds, in place; 0 above it. False: it is not positive
/// definite.
template <class T>
bool factor(T* a, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    T* row = a + j * n;
    double pivot = std::real(row[j]);
    for (int64_t k = 0; k < j; ++k) pivot -= std::norm(row[k]);
    if (pivot <= 0) return false;  // NaN propagates to everything that depends on it
    const double diagonal = std::sqrt(pivot);
    row[j] = diagonal;
    std::fill(row + j + 1, row + n, T(0));
    for (int64_t i = j + 1; i < n; ++i) {
      a[i * n + j] = (a[i * n + j] - sumOfProducts(a + i * n, row, j)) / diagonal;
    }
  }
  return true;
}

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
  const int64_t n = call.operands[0].shape().back();
  const bool lower = call.typed().boolean("lower");
  auto wide = widened<T>(call.operands[0], call);
  if (!wide) return fail(std::move(wide.error()));
  for (size_t at = 0; at < wide->size(); at += static_cast<size_t>(n * n)) {
    T* matrix = wide->data() + at;
    if (!lower) adjoint(matrix, n);
    if (!factor(matrix, n)) std::fill_n(matrix, n * n, T(std::numeric_limits<double>::quiet_NaN()));
    if (!lower) adjoint(matrix, n);
  }
  return oneOf(narrowed(*wide, call));
}

/// One matrix of a triangular_solve, after its transposition if any.
template <class T>
struct Triangle {
  const T* a;
  int64_t n;
  bool transposed, conjugated, lower, unitDiagonal;  ///< `lower`: after transposing
  T at(int64_t i, int64_t j) const {
    const T value = transposed ? a[j * n + i] : a[i * n + j];
    return conjugated ? conjugate(value) : value;
  }
};

/// a · x = b for columns of b, which x replaces: rows in the order in which they are known.
template <class T>
void solveLeft(const Triangle<T>& t, T* b, int64_t columns) {
  for (int64_t step = 0; step < t.n; ++step) {
    const int64_t i = t.lower ? step : t.n - 1 - step;
    T* row = b + i * columns;
    for (int64_t done = 0; done < step; ++done) {
      const int64_t j = t.lower ? done : t.n - 1 - done;
      const T factor = t.at(i, j);
      for (int64_t c = 0; c < columns; ++c) row[c] -= product(factor, b[j * columns + c]);
    }
    if (t.unitDiagonal) continue;
    const T diagonal = t.at(i, i);
    for (int64_t c = 0; c < columns; ++c) row[c] /= diagonal;
  }
}

/// x · a = b for rows of b.
template <class T>
void solveRight(const Triangle<T>& t, T* b, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r) {
    T* x = b + r * t.n;
    for (int64_t step = 0; step < t.n; ++step) {
      const int64_t j = t.lower ? t.n - 1 - step : step;
      for (int64_t done = 0; done < step; ++done) {
        const int64_t k = t.lower ? t.n - 1 - done : done;
        x[j] -= product(x[k], t.at(k, j));
      }
      if (!t.unitDiagonal) x[j] /= t.at(j, j);
    }
  }
}

template <class T>
PlainResults solve(PlainCall& call) {
  const TypedOp op = call.typed();
  const Shape& shape = call.operands[1].shape();
  const bool left = op.boolean("left_side"), transposed = op.text("transpose_a") != "NO_TRANSPOSE";
  const int64_t n = call.operands[0].shape().back();
  const int64_t others = left ? shape.back() : shape[shape.size() - 2];
  auto a = widened<T>(call.operands[0], call), b = widened<T>(call.operands[1], call);
  if (!a || !b) return fail(std::move(a ? b.error() : a.error()));
  if (b->empty()) return oneOf(narrowed(*b, call));
  const int64_t matrices = static_cast<int64_t>(b->size()) / (n * others);
  for (int64_t m = 0; m < matrices; ++m) {
    const Triangle<T> t{.a = a->data() + m * n * n,
                        .n = n,
                        .transposed = transposed,
                        .conjugated = op.text("transpose_a") == "ADJOINT",
                        .lower = op.boolean("lower") != transposed,
                        .unitDiagonal = op.boolean("unit_diagonal")};
    T* to = b->data() + m * n * others;
    left ? solveLeft(t, to, others) : solveRight(t, to, others);
  }
  return oneOf(narrowed(*b, call));
}

constexpr std::array kLinearEvaluators{
    EvaluatorRow{"cholesky", ofRealOrComplex<choleskyOf<double>, choleskyOf<Complex>>},
    EvaluatorRow{"triangular_solve", ofRealOrComplex<solve<double>, solve<Complex>>},
};

}  // namespace

std::span<const EvaluatorRow> linearEvaluators() { return kLinearEvaluators; }

}  // namespace smalti::plain
