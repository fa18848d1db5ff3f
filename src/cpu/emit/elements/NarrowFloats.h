// Conversions between fp8 and sub-byte floats and f32, with the values of src/eval.
#pragma once

#include "llvm/IR/IRBuilder.h"

#include "smalti/dtype.h"

namespace smalti::cpu {

/// f8e5m2, f8e4m3fn, f8e4m3b11fnuz, f4e2m1fn.
bool isByteFloat(DType);
/// Held in registers as f32: f32 and all narrower floats.
bool isRegisterFloat(DType);
/// The values of i8 codes as f32; every NaN keeps its bits, so that moved values do not change.
llvm::Value* decodeByteFloat(llvm::IRBuilder<>&, DType, llvm::Value* codes);
/// f32 to the nearest code as i8, ties to even; NaNs become quiet if `quiet`.
llvm::Value* encodeByteFloat(llvm::IRBuilder<>&, DType, llvm::Value* f32, bool quiet);

}  // namespace smalti::cpu
