// Matrix product with a 3-D grid and an accumulator in VMEM; bias and activation fused.
#pragma once

#include <optional>

#include "smalti/kernels/epilogue.h"
#include "smalti/pallas_call.h"

namespace smalti::kernels {

struct MatmulOptions {
  /// x is [k, m] / y is [n, k] in memory.
  bool transpose_x = false, transpose_y = false;
  /// [n], added to every row of the product.
  std::optional<Array> bias{};
  /// After the bias, on the f32 (i32 for integers) block.
  Epilogue activation{};
  /// Of the result; x's, or i32 for integers.
  std::optional<DType> out_dtype{};
  /// 0: automatic. Any sizes compute the same; multiples of 8 (m), 128 (n, k) or the whole axis can be exported.
  int64_t block_m = 0, block_n = 0, block_k = 0;
};

/// x @ y of f32, bf16 or int8 matrices of any sizes.
Array matmul(const Array& x, const Array& y, const MatmulOptions& options = {});
/// The call behind it; takes x, y and, with a bias, that as [1, n].
PallasCall matmul_call(const ArrayType& x, const ArrayType& y, const MatmulOptions& options = {});

}  // namespace smalti::kernels
