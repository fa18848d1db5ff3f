// Source of Kernels.h, compiled once per instruction set. Eigen's functions are templates, of which the linker keeps
// one: they are in another namespace for each set.
#include <algorithm>
#include <cmath>

#define Eigen SMALTI_EIGEN
#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#undef Eigen

#include "plain/linear/Kernels.h"

namespace smalti::plain::SMALTI_ISA {
namespace {

namespace eigen = ::SMALTI_EIGEN;

template <class T>
using RowMajor = eigen::Map<eigen::Matrix<T, eigen::Dynamic, eigen::Dynamic, eigen::RowMajor>>;
template <class T>
using ConstRowMajor = eigen::Map<const eigen::Matrix<T, eigen::Dynamic, eigen::Dynamic, eigen::RowMajor>>;
template <class T>
using ColumnMajor = eigen::Matrix<T, eigen::Dynamic, eigen::Dynamic>;

/// Half of the exponents of f64: squares of such elements, and sums of them, neither overflow nor vanish.
constexpr int kSafeExponent = 400;

/// The power of two by which the elements are divided before their squares are summed: 0 where none is needed.
template <class Matrix>
int excessExponent(const Matrix& a) {
  const double largest = a.size() == 0 ? 0 : a.cwiseAbs().maxCoeff();
  if (!(largest > 0) || !std::isfinite(largest)) return 0;
  const int exponent = std::ilogb(largest);
  return std::abs(exponent) > kSafeExponent ? exponent : 0;
}

template <class T>
bool cholesky(T* a, int64_t n) {
  RowMajor<T> matrix(a, n, n);
  eigen::LLT<eigen::Ref<eigen::Matrix<T, eigen::Dynamic, eigen::Dynamic, eigen::RowMajor>>> factor(matrix);
  matrix.template triangularView<eigen::StrictlyUpper>().setZero();
  return factor.info() == eigen::Success;
}

/// The system as one of a triangle without options, since each combination is compiled on its own: x·a = b is
/// aᵀ·xᵀ = bᵀ, and rows of bᵀ are columns of b.
template <class T>
void solve(const T* a, const Triangle& t, bool left, T* b, int64_t rows, int64_t columns) {
  const int64_t n = left ? rows : columns, others = left ? columns : rows;
  const ConstRowMajor<T> given(a, n, n);
  ColumnMajor<T> matrix;
  if (t.transposed == left)
    matrix = given.transpose();
  else
    matrix = given;
  if (t.conjugated) matrix = matrix.conjugate().eval();
  if (t.unitDiagonal) matrix.diagonal().setOnes();
  const auto replace = [&](auto x) {
    if (t.lower == (t.transposed == left))
      matrix.template triangularView<eigen::Upper>().solveInPlace(x);
    else
      matrix.template triangularView<eigen::Lower>().solveInPlace(x);
  };
  if (left)
    replace(RowMajor<T>(b, n, others));
  else
    replace(eigen::Map<ColumnMajor<T>>(b, n, others));
}

/// By which pivots are chosen: LAPACK's norm of complex numbers.
double magnitude(double x) { return std::abs(x); }
double magnitude(Complex x) { return std::abs(x.real()) + std::abs(x.imag()); }

/// Columns that are factored before those behind them see their products: their rows stay in L1.
constexpr int64_t kPanel = 32;

template <class T>
void lu(T* a, int64_t m, int64_t n, int32_t* exchanged) {
  RowMajor<T> matrix(a, m, n);
  const int64_t smaller = std::min(m, n);
  for (int64_t first = 0; first < smaller; first += kPanel) {
    const int64_t last = std::min(first + kPanel, smaller), behind = n - last, below = m - last;
    for (int64_t j = first; j < last; ++j) {
      int64_t pivot = j;
      for (int64_t i = j + 1; i < m; ++i)
        if (magnitude(matrix(i, j)) > magnitude(matrix(pivot, j))) pivot = i;
      exchanged[j] = static_cast<int32_t>(pivot);
      if (pivot != j) matrix.row(j).swap(matrix.row(pivot));
      const T head = matrix(j, j);
      for (int64_t i = j + 1; i < m; ++i) {
        if (head != T(0)) matrix(i, j) /= head;
        const T factor = matrix(i, j);
        matrix.row(i).segment(j + 1, last - j - 1) -= factor * matrix.row(j).segment(j + 1, last - j - 1);
      }
    }
    if (behind == 0) continue;
    auto right = matrix.block(first, last, last - first, behind);
    matrix.block(first, first, last - first, last - first)
        .template triangularView<eigen::UnitLower>()
        .solveInPlace(right);
    if (below > 0)
      matrix.block(last, last, below, behind).noalias() -= matrix.block(last, first, below, last - first) * right;
  }
}

template <class T>
void qr(T* a, int64_t m, int64_t n, T* factors) {
  RowMajor<T> matrix(a, m, n);
  const int excess = excessExponent(matrix);
  ColumnMajor<T> columns = matrix;
  if (excess != 0) columns *= std::ldexp(1, -excess);
  const eigen::HouseholderQR<eigen::Ref<ColumnMajor<T>>> factored(columns);
  matrix = columns;
  if (excess != 0) matrix.template triangularView<eigen::Upper>() *= std::ldexp(1, excess);
  const auto& coefficients = factored.hCoeffs();
  for (int64_t j = 0; j < coefficients.size(); ++j) factors[j] = eigen::numext::conj(coefficients(j));
}

template <class T>
void productOfReflections(const T* vectors, int64_t m, int64_t n, const T* factors, int64_t count, T* q) {
  const ColumnMajor<T> columns = ConstRowMajor<T>(vectors, m, n);
  const eigen::Map<const eigen::Matrix<T, eigen::Dynamic, 1>> coefficients(factors, count);
  ColumnMajor<T> product = ColumnMajor<T>::Identity(m, n);
  eigen::householderSequence(columns, coefficients).setLength(count).applyThisOnTheLeft(product);
  RowMajor<T>(q, m, n) = product;
}

template <class T>
bool eigh(T* a, int64_t n, double* values) {
  RowMajor<T> matrix(a, n, n);
  if (n == 0) return true;
  if (!matrix.template triangularView<eigen::Lower>().toDenseMatrix().allFinite()) return false;
  const eigen::SelfAdjointEigenSolver<ColumnMajor<T>> solver(matrix);
  if (solver.info() != eigen::Success) return false;
  eigen::Map<eigen::VectorXd>(values, n) = solver.eigenvalues();
  matrix = solver.eigenvectors();
  return true;
}

template <int kOrder>
using Doubles =
    eigen::Map<const eigen::Matrix<double, eigen::Dynamic, eigen::Dynamic, kOrder>, 0, eigen::OuterStride<>>;
using Sums =
    eigen::Map<eigen::Matrix<double, eigen::Dynamic, eigen::Dynamic, eigen::RowMajor>, 0, eigen::OuterStride<>>;

template <int kOrderOfA>
void multiplyBy(const Doubles<kOrderOfA>& a, const DenseMatrix& b, Sums& c) {
  const eigen::OuterStride<> stride(b.stride);
  if (b.transposed)
    c.noalias() += a * Doubles<eigen::ColMajor>(b.at, a.cols(), c.cols(), stride);
  else
    c.noalias() += a * Doubles<eigen::RowMajor>(b.at, a.cols(), c.cols(), stride);
}

void multiply(const DenseMatrix& a, const DenseMatrix& b, double* c, int64_t stride, int64_t rows, int64_t depth,
              int64_t columns) {
  Sums sums(c, rows, columns, eigen::OuterStride<>(stride));
  const eigen::OuterStride<> strideOfA(a.stride);
  if (a.transposed)
    multiplyBy<eigen::ColMajor>(Doubles<eigen::ColMajor>(a.at, rows, depth, strideOfA), b, sums);
  else
    multiplyBy<eigen::RowMajor>(Doubles<eigen::RowMajor>(a.at, rows, depth, strideOfA), b, sums);
}

void prepare() { static_cast<void>(eigen::l1CacheSize()); }

template <class T>
constexpr MatrixKernels<T> kernelsOf() {
  return {cholesky<T>, solve<T>, lu<T>, qr<T>, productOfReflections<T>, eigh<T>};
}

}  // namespace

extern constinit const AllMatrixKernels kMatrixKernels = {prepare, multiply, kernelsOf<double>(), kernelsOf<Complex>()};

}  // namespace smalti::plain::SMALTI_ISA
