// Factors of matrices and solutions of triangular systems, by Eigen, compiled once per instruction set.
#pragma once

#include <complex>
#include <cstdint>

namespace smalti::plain {

using Complex = std::complex<double>;

struct Triangle {
  bool lower;         ///< which elements of the matrix are read
  bool unitDiagonal;  ///< the diagonal is 1 and not read
  bool transposed;    ///< the system is that of the transposed matrix
  bool conjugated;    ///< and, if transposed, of its conjugate
};

/// Of row-major matrices of double or Complex.
template <class T>
struct MatrixKernels {
  /// The n×n matrix whose lower triangle `a` holds becomes its factor L, a = L·Lᴴ, with zeros above. False: it is not
  /// positive definite.
  bool (*cholesky)(T* a, int64_t n);
  /// x replaces b in a·x = b (`left`; a is rows × rows) or x·a = b (a is columns × columns).
  void (*solve)(const T* a, const Triangle&, bool left, T* b, int64_t rows, int64_t columns);
  /// L below the diagonal of the m×n matrix, U on it and above. Row j was exchanged with row exchanged[j], whose
  /// element of column j was the largest by LAPACK's norm.
  void (*lu)(T* a, int64_t m, int64_t n, int32_t* exchanged);
  /// R on the diagonal of the m×n matrix and above, below it the reflections' vectors v, whose first element is 1:
  /// Q is the product of the matrices I - factors[j] · v vᴴ.
  void (*qr)(T* a, int64_t m, int64_t n, T* factors);
  /// The first n columns of the product of `count` reflections, as `qr` has them.
  void (*productOfReflections)(const T* vectors, int64_t m, int64_t n, const T* factors, int64_t count, T* q);
  /// The n×n Hermitian matrix whose lower triangle `a` holds becomes its eigenvectors, in columns; eigenvalues ascend.
  /// False: there are none, since elements are not finite.
  bool (*eigh)(T* a, int64_t n, double* values);
};

/// Of the instruction set in use.
template <class T>
const MatrixKernels<T>& matrixKernels();

/// A matrix in memory order by rows, or by columns if it is the transpose of what is in memory; `stride`: from one row
/// (column) to the next, in elements.
struct DenseMatrix {
  const double* at;
  int64_t stride;
  bool transposed;
};
/// c += a · b; `stride`: from one row of c to the next. The order of sums depends on the sizes.
using MultiplyDoubles = void (*)(const DenseMatrix& a, const DenseMatrix& b, double* c, int64_t stride, int64_t rows,
                                 int64_t depth, int64_t columns);
MultiplyDoubles multiplyDoubles();

struct AllMatrixKernels {
  void (*prepare)();  ///< queries the sizes of the caches, at the first call
  MultiplyDoubles multiply;
  MatrixKernels<double> ofReals;
  MatrixKernels<Complex> ofComplex;
};

// One table per instruction set. AVX-512 makes Eigen's factors no faster (Zen 4, 512×512).
namespace baseline {
extern const AllMatrixKernels kMatrixKernels;
}
namespace avx2 {
extern const AllMatrixKernels kMatrixKernels;
}

}  // namespace smalti::plain
