// cholesky and triangular_solve. They are computed in f64 and rounded once.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "eval/Elementwise.h"
#include "plain/PlainEvaluators.h"

namespace smalti::plain {
namespace {

using Doubles = std::vector<double>;

Result<Doubles> widened(const Array& array, const PlainCall& call) {
  const auto kernel = is_float(array.dtype()) ? eval::findArrayConvert(array.dtype(), DType::f64) : nullptr;
  if (!kernel) return fail(noEvaluation(call, array.dtype()));
  Doubles wide(static_cast<size_t>(array.elements()));
  kernel(array.data(), wide.data(), array.elements());
  return wide;
}

PlainResults narrowed(const Doubles& wide, const PlainCall& call) {
  auto result = Array::allocate(call.results[0]);
  if (!result) return fail(std::move(result.error()));
  eval::findArrayConvert(DType::f64, result->dtype())(wide.data(), result->data(), result->elements());
  return one(std::move(*result));
}

/// The lower factor of the n×n matrix whose lower triangle `a` holds, in place; 0 above it. False: it is not positive
/// definite.
bool factor(double* a, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    double* row = a + j * n;
    double pivot = row[j];
    for (int64_t k = 0; k < j; ++k) pivot -= row[k] * row[k];
    if (pivot <= 0) return false;  // NaN goes on, and reaches what depends on it
    row[j] = std::sqrt(pivot);
    std::fill(row + j + 1, row + n, 0.0);
    for (int64_t i = j + 1; i < n; ++i) {
      double sum = a[i * n + j];
      for (int64_t k = 0; k < j; ++k) sum -= a[i * n + k] * row[k];
      a[i * n + j] = sum / row[j];
    }
  }
  return true;
}

void transpose(double* a, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j) std::swap(a[i * n + j], a[j * n + i]);
}

/// Of a matrix that is not positive definite all is NaN, as JAX has it.
PlainResults cholesky(PlainCall& call) {
  const Array& a = call.operands[0];
  const int64_t n = a.shape().back();
  const bool lower = call.typed().boolean("lower");
  auto wide = widened(a, call);
  if (!wide) return fail(std::move(wide.error()));
  for (size_t at = 0; at < wide->size(); at += static_cast<size_t>(n * n)) {
    double* matrix = wide->data() + at;
    if (!lower) transpose(matrix, n);
    if (!factor(matrix, n)) std::fill_n(matrix, n * n, std::numeric_limits<double>::quiet_NaN());
    if (!lower) transpose(matrix, n);
  }
  return narrowed(*wide, call);
}

/// One matrix of a triangular_solve, as it is meant: transposed or not.
struct Triangle {
  const double* a;
  int64_t n;
  bool transposed, lower, unitDiagonal;  ///< `lower`: after transposing
  double at(int64_t i, int64_t j) const { return transposed ? a[j * n + i] : a[i * n + j]; }
};

/// a · x = b for columns of b, which x replaces: rows in the order in which they are known.
void solveLeft(const Triangle& t, double* b, int64_t columns) {
  for (int64_t step = 0; step < t.n; ++step) {
    const int64_t i = t.lower ? step : t.n - 1 - step;
    double* row = b + i * columns;
    for (int64_t done = 0; done < step; ++done) {
      const int64_t j = t.lower ? done : t.n - 1 - done;
      const double factor = t.at(i, j);
      for (int64_t c = 0; c < columns; ++c) row[c] -= factor * b[j * columns + c];
    }
    if (t.unitDiagonal) continue;
    const double diagonal = t.at(i, i);
    for (int64_t c = 0; c < columns; ++c) row[c] /= diagonal;
  }
}

/// x · a = b for rows of b.
void solveRight(const Triangle& t, double* b, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r) {
    double* x = b + r * t.n;
    for (int64_t step = 0; step < t.n; ++step) {
      const int64_t j = t.lower ? t.n - 1 - step : step;
      for (int64_t done = 0; done < step; ++done) {
        const int64_t k = t.lower ? t.n - 1 - done : done;
        x[j] -= x[k] * t.at(k, j);
      }
      if (!t.unitDiagonal) x[j] /= t.at(j, j);
    }
  }
}

PlainResults triangularSolve(PlainCall& call) {
  const TypedOp op = call.typed();
  const Shape& shape = call.operands[1].shape();
  const bool left = op.boolean("left_side"), transposed = op.text("transpose_a") != "NO_TRANSPOSE";
  const int64_t n = call.operands[0].shape().back();
  const int64_t others = left ? shape.back() : shape[shape.size() - 2];
  auto a = widened(call.operands[0], call), b = widened(call.operands[1], call);
  if (!a || !b) return fail(std::move(a ? b.error() : a.error()));
  if (b->empty()) return narrowed(*b, call);
  const int64_t matrices = static_cast<int64_t>(b->size()) / (n * others);
  for (int64_t m = 0; m < matrices; ++m) {
    const Triangle t{a->data() + m * n * n, n, transposed, op.boolean("lower") != transposed,
                     op.boolean("unit_diagonal")};
    double* to = b->data() + m * n * others;
    left ? solveLeft(t, to, others) : solveRight(t, to, others);
  }
  return narrowed(*b, call);
}

constexpr std::array kLinearEvaluators{
    EvaluatorRow{"cholesky", cholesky},
    EvaluatorRow{"triangular_solve", triangularSolve},
};

}  // namespace

std::span<const EvaluatorRow> linearEvaluators() { return kLinearEvaluators; }

}  // namespace smalti::plain
