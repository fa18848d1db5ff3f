// Matrix times vector in f32: the matrix is read once, in the order of memory.
#pragma once

#include "eval/contract/Gemm.h"

namespace smalti::eval {

/// c[i] (+)= sum over p of matrix(i, p) * vector(p), i < n, p < k. False when neither dim of the matrix is contiguous.
bool multiplyVector(const GemmOperand& matrix, const GemmOperand& vector, int64_t n, int64_t k, float* c,
                    bool accumulate);

}  // namespace smalti::eval
