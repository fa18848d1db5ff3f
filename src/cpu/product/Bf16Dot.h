// Products of few rows of bf16 where the processor adds the products of two bf16 to an f32 at once: lanes hold pairs of
// values that follow each other in k.
#pragma once

#include "cpu/product/RowProduct.h"
#include "cpu/product/gemm/Ir.h"

namespace smalti::cpu {

/// Loads consecutive elements, or pairs of them, along a row of A or of a transposed B. Lanes are 0 where the mask,
/// which has one bit per element, is not set.
Reg loadCoefficients(Builder&, DType, bool pairs, Reg from, int lanes, Reg mask = nullptr);

/// Loads elements of B likewise, and rounds them to bf16 if the product does.
Reg loadOfB(Builder&, const GemmShape&, bool pairs, Reg from, int lanes, Reg mask = nullptr);

/// Loads up to two registers of columns of one row of B, or of pairs from two rows. Lanes past `columns` are 0; their
/// memory is not read.
Values loadRows(NativeLowering&, const GemmShape&, llvm::ArrayRef<Reg> rows, int64_t columns);

/// sum + a · b in every lane; a lane of a and b is an f32, or a pair of bf16.
Reg addProducts(Builder&, Reg a, Reg b, Reg sum);

}  // namespace smalti::cpu
