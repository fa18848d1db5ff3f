// The sizes, dtypes and forms of one matrix product.
#pragma once

#include <cstdint>

#include "smalti/dtype.h"

namespace smalti::cpu {

/// C[m,n] = A[m,k] · B[k,n] (+ C). Floats accumulate in f32, integers in i32 with wrap-around.
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  DType a = DType::f32, b = DType::f32;  ///< f32, bf16, f16, i8 (signed), u8
  DType c = DType::f32;                  ///< f32, i32
  bool transposedA = false;              ///< A is stored [k,m]
  bool transposedB = false;              ///< B is stored [n,k]
  bool accumulate = false;               ///< add to C; else C is overwritten and never read
  bool cachesPackedB = false;            ///< packed B stays in memory of its own, where later products find it
  bool addsRow = false;                  ///< C = A·B + a row vector added to every row (a bias); not with `accumulate`
  bool roundsB = false;                  ///< B is rounded from f32 to bf16 as it is read; skinny products only
  bool operator==(const GemmShape&) const = default;
};

bool isByte(DType);

}  // namespace smalti::cpu
