// C = A · B for one batch: blocked for the caches, packed where that pays.
#pragma once

#include "eval/contract/Operand.h"

namespace smalti::eval {

/// A matrix inside an operand: element (i, p) at offset + i * outer + p * inner; i is a row of A or a column of B, p
/// runs along the contracted dim.
struct GemmOperand {
  const OperandReader* reader;
  int64_t offset, outer, inner;
  Part part;
};

struct GemmShape {
  int64_t m, n, k;
};

/// c[i * n + j] (+)= sum over p of A(i, p) * B(j, p), words of f32 or i32 as the arithmetic says.
void gemm(Arithmetic arithmetic, const GemmOperand& a, const GemmOperand& b, const GemmShape& shape, Word* c,
          bool accumulate);

}  // namespace smalti::eval
