// Factors of matrices, by the code of every instruction set.
#include <cmath>
#include <random>

#include "../eval/OnEveryIsa.h"
#include "plain/linear/Kernels.h"

namespace smalti::plain {
namespace {

class MatrixKernelsOnEveryIsa : public eval::test::OnEveryIsa {
 protected:
  static constexpr int64_t n = 75;
  using Numbers = std::vector<double>;

  static Numbers matrix() {
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    Numbers a(n * n);
    for (double& x : a) x = normal(random);
    return a;
  }
  static double& at(Numbers& a, int64_t i, int64_t j) { return a[static_cast<size_t>(i * n + j)]; }
  /// a · b, or a · bᵀ.
  static Numbers product(Numbers a, Numbers b, bool transposed = false) {
    Numbers c(n * n);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t k = 0; k < n; ++k) at(c, i, j) += at(a, i, k) * (transposed ? at(b, j, k) : at(b, k, j));
    return c;
  }
  static void expectNear(const Numbers& a, const Numbers& b) {
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-10) << i;
  }
};

TEST_P(MatrixKernelsOnEveryIsa, FactorsMultiplyToTheMatrix) {
  const auto& kernels = matrixKernels<double>();
  const Numbers positive = product(matrix(), matrix(), true);
  Numbers factor = positive;
  ASSERT_TRUE(kernels.cholesky(factor.data(), n));
  expectNear(product(factor, factor, true), positive);

  Numbers solution = positive;  // L⁻¹ · L Lᵀ
  kernels.solve(factor.data(), {.lower = true}, true, solution.data(), n, n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) ASSERT_NEAR(at(solution, i, j), at(factor, j, i), 1e-10);

  Numbers vectors = positive, values(n), scaled;
  ASSERT_TRUE(kernels.eigh(vectors.data(), n, values.data()));
  scaled = vectors;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) at(scaled, i, j) *= values[static_cast<size_t>(j)];
  expectNear(product(scaled, vectors, true), positive);

  Numbers triangle = matrix(), scales(n), q(n * n);
  kernels.qr(triangle.data(), n, n, scales.data());
  kernels.productOfReflections(triangle.data(), n, n, scales.data(), n, q.data());
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j) at(triangle, i, j) = 0;
  expectNear(product(q, triangle), matrix());

  Numbers lower = matrix(), upper(n * n), exchangedRows = matrix();
  std::vector<int32_t> exchanged(n);
  kernels.lu(lower.data(), n, n, exchanged.data());
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i; j < n; ++j) std::swap(at(lower, i, j), at(upper, i, j));
    at(lower, i, i) = 1;
    for (int64_t j = 0; j < n; ++j) std::swap(at(exchangedRows, i, j), at(exchangedRows, exchanged[i], j));
  }
  expectNear(product(lower, upper), exchangedRows);
}

TEST_P(MatrixKernelsOnEveryIsa, WhatHasNoFactorIsSaid) {
  const auto& kernels = matrixKernels<double>();
  Numbers indefinite = matrix();
  at(indefinite, 40, 40) = -1e3;
  EXPECT_FALSE(kernels.cholesky(indefinite.data(), n));
  Numbers nan = matrix(), values(n);
  at(nan, 50, 3) = std::nan("");
  EXPECT_FALSE(kernels.eigh(nan.data(), n, values.data()));
}

INSTANTIATE_TEST_SUITE_P(Isas, MatrixKernelsOnEveryIsa, eval::test::everyIsa(), eval::test::isaName);

}  // namespace
}  // namespace smalti::plain
