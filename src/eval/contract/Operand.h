// Operands of matrix products as runs of 32-bit words, whatever their dtype, strides and numerics.
#pragma once

#include "eval/Elementwise.h"
#include "eval/Tensor.h"
#include "eval/contract/Kernels.h"

namespace smalti::eval {

/// What a product computes in. Integers of up to 8 bits go through f32, exactly (see Gemm.cpp).
enum class Arithmetic { f32, i32ThroughF32, i32 };

/// Which part of an f32 operand, as a sum of bf16 values (DotNumerics). `high` keeps NaN and infinities;
/// `highFinite` has 0 in their place, so that the correction terms cannot turn an infinity into NaN. Of narrower floats
/// there is only `whole`, and `highFinite` in correction terms.
enum class Part { whole, high, highFinite, middle, low };

/// Reads elements of an operand as words of an arithmetic.
class OperandReader {
 public:
  OperandReader(const Input& in, Arithmetic arithmetic, bool isUnsigned);

  /// The elements themselves when they already are the words wanted; nullptr otherwise.
  const Word* direct(Part part) const;
  /// to[i] = word of element at + i * stride, i < n.
  void read(int64_t at, int64_t stride, int64_t n, Part part, Word* to) const;

 private:
  void convert(const std::byte* from, Word* to, int64_t n) const;

  const std::byte* data_;
  DType dtype_;
  Arithmetic arithmetic_;
  bool splat_;
  UnaryKernel convertInteger_ = nullptr;  // elements to words; null: they are floats
};

}  // namespace smalti::eval
