// The rows that each source file of this folder adds to the table of its instruction set.
#pragma once

#include "eval/elementwise/Tables.h"
#include "eval/elementwise/isa/Isa.h"

namespace smalti::eval::SMALTI_ISA {

Rows<UnaryRow> floatUnaryRows();
Rows<UnaryRow> floatTestRows();
Rows<BinaryRow> floatBinaryRows();
Rows<BinaryRow> floatCompareRows();
Rows<UnaryRow> mathUnaryRows();
Rows<BinaryRow> mathBinaryRows();
Rows<IntUnaryRow> intUnaryRows();
Rows<IntBinaryRow> intBinaryRows();
Rows<IntBinaryRow> intCompareRows();
Rows<CodecRow> codecRows();
Rows<ConvertRow> convertRows();
std::array<SelectKernel, 4> selectKernels();

// Rows of mathUnaryRows, in Activations.cpp.
void tanh(const void* in, void* out, int64_t n);
void erf(const void* in, void* out, int64_t n);
void erfc(const void* in, void* out, int64_t n);

}  // namespace smalti::eval::SMALTI_ISA
