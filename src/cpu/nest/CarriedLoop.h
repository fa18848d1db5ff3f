// Loops with loop-carried values, for emitters that keep sums or maxima in registers.
#pragma once

#include "cpu/emit/NativeLowering.h"
#include "cpu/product/gemm/Ir.h"

namespace smalti::cpu {

using Carried = Values;
using CarriedBody = llvm::function_ref<Carried(Reg index, const Carried&)>;
/// countedLoop with constant bounds.
Carried carriedLoop(NativeLowering&, int64_t begin, int64_t end, int64_t step, const Carried& carried,
                    CarriedBody body);

}  // namespace smalti::cpu
