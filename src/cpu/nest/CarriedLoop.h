// Loops with loop-carried values, for emitters that keep sums or maxima in registers.
#pragma once

#include "cpu/emit/NativeLowering.h"
#include "cpu/product/gemm/Ir.h"

namespace smalti::cpu {

using CarriedBody = llvm::function_ref<Values(Reg index, const Values&)>;
/// countedLoop with constant bounds.
Values carriedLoop(NativeLowering&, int64_t begin, int64_t end, int64_t step, const Values& carried, CarriedBody body);

}  // namespace smalti::cpu
