// Matrix products: dot_general over any batch, contracting and free dims; f32 or i32 accumulation.
#pragma once

#include "eval/Tensor.h"

namespace smalti::eval {

struct DotDims {
  Dims lhsContracting, rhsContracting, lhsFree, rhsFree, lhsBatch, rhsBatch;
  /// Of the elements of rhs's free dims, only these: acc and out have no others. Negative: all.
  int64_t firstColumn = 0, columns = -1;
};

/// How f32 operands are rounded before multiplying. `full`: not at all; the others are the TPU's passes of
/// bf16: one pass (DEFAULT), three (HIGH, bf16x3), six (HIGHEST).
enum class DotNumerics { full, bf16x1, bf16x3, bf16x6 };

/// out = lhs · rhs + acc, result dims [batch…, lhs free…, rhs free…]. Where acc and out are
/// floats, operands (any mix) are multiplied and summed in f32 and rounded once to out's dtype; integers accumulate in
/// i32 with wrap-around. f64, and integers of 64 bits, only among themselves. `lhsUnsigned`/`rhsUnsigned`:
/// how signless integer operands are read. acc may be a splat. Returns false when the dtypes have no product.
bool dotGeneral(Input lhs, Input rhs, const DotDims&, Input acc, Output out, DotNumerics numerics = DotNumerics::full,
                bool lhsUnsigned = false, bool rhsUnsigned = false);

/// Masks (1: defined): out[b,i,j] stays 1 where every lhs element of row i and rhs element of column j is defined.
/// `out` comes with acc's mask (all 1 when acc is defined). nullptr: that operand is defined everywhere.
void dotGeneralMask(const uint8_t* lhs, Dims lhsShape, const uint8_t* rhs, Dims rhsShape, const DotDims&, uint8_t* out,
                    int64_t outElements);

}  // namespace smalti::eval
