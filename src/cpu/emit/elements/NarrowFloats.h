// Conversions between fp8 and sub-byte floats and f32, with the values of src/eval.
#pragma once

#include "llvm/IR/IRBuilder.h"

#include "cpu/ops/NativeDTypes.h"

namespace smalti::cpu {

/// The values of i8 codes as f32; every NaN keeps its bits, so that moved values do not change.
llvm::Value* decodeSmallFloat(llvm::IRBuilder<>&, DType, llvm::Value* codes);
/// f32 to the nearest code as i8, ties to even; NaNs become quiet if `quiet`.
llvm::Value* encodeSmallFloat(llvm::IRBuilder<>&, DType, llvm::Value* f32, bool quiet);

}  // namespace smalti::cpu
