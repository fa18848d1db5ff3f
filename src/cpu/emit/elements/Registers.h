// How elements are held in registers: narrow floats as f32 values that their own dtype can hold, so that an op is
// "compute in f32, round once"; i1 as i1; index as i64.
#pragma once

#include "cpu/ops/NativeDTypes.h"
#include "eval/Poison.h"
#include "llvm/IR/IRBuilder.h"

#include "smalti/dtype.h"

namespace smalti::cpu {

using Reg = llvm::Value*;
using Builder = llvm::IRBuilder<>;

/// Scalar for one lane, else a vector.
llvm::Type* registerType(llvm::LLVMContext&, DType, int lanes);
/// `element`, or a vector of it with as many lanes as the value.
llvm::Type* like(Reg value, llvm::Type* element);
/// Type of an element in memory (one per storage_bytes).
llvm::Type* storageType(llvm::LLVMContext&, DType);

/// `mask`: <lanes x i1>, null for all; inactive lanes access no memory and read as zero.
Reg loadElements(Builder&, DType, Reg pointer, int lanes, Reg mask = nullptr);
llvm::Instruction* storeElements(Builder&, DType, Reg value, Reg pointer, int lanes, Reg mask = nullptr);

/// Conversions between storage form and register form, for any number of lanes.
Reg fromStorage(Builder&, DType, Reg stored);
Reg toStorage(Builder&, DType, Reg value);

/// An f32 register rounded to a narrow float (to nearest even, NaN stays NaN); f32 is not rounded.
Reg roundTo(Builder&, DType, Reg f32);
/// Elements equal to a scalar register.
Reg splat(Builder&, Reg scalar, int lanes);
/// A constant element; `bytes` in storage form.
Reg constantElement(Builder&, DType, const void* bytes);

/// The contents of undefined memory: NaN, the least integer, false (docs/values.md).
Reg undefinedElement(Builder&, DType, eval::Poison);

}  // namespace smalti::cpu
