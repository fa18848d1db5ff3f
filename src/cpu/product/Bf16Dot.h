// Products of few rows of bf16 where the processor adds the products of two bf16 to an f32 at once: lanes hold pairs of
// values that follow each other in k.
#pragma once

#include "cpu/product/RowProduct.h"
#include "cpu/product/gemm/Ir.h"

namespace smalti::cpu {

/// Loads consecutive elements, or pairs of them, along a row of A or of a transposed B. Lanes are 0 where the
/// mask, which has one lane per element, is not set.
Reg loadCoefficients(Builder&, DType, bool pairs, Reg from, int lanes, Reg mask = nullptr);

/// The same of B, rounded to bf16 if the product does that.
Reg loadOfB(Builder&, const GemmShape&, bool pairs, Reg from, int lanes, Reg mask = nullptr);

/// Some columns of a row of B, or pairs of those of two rows, at most two registers full; the columns past them are
/// 0 and are not read.
Values loadRows(NativeLowering&, const GemmShape&, llvm::ArrayRef<Reg> rows, int64_t columns);

/// sum + a · b in every lane, of f32 or of pairs.
Reg addProducts(Builder&, Reg a, Reg b, Reg sum);

}  // namespace smalti::cpu
