// Loops whose values go from one pass to the next, for emitters that keep sums or bests in registers.
#pragma once

#include "cpu/gemm/Ir.h"
#include "cpu/lower/Lowering.h"

namespace smalti::cpu {

using Carried = Values;
using CarriedBody = llvm::function_ref<Carried(Reg index, const Carried&)>;
/// countedLoop between numbers that are known.
Carried carriedLoop(Lowering&, int64_t begin, int64_t end, int64_t step, const Carried& carried, CarriedBody body);

}  // namespace smalti::cpu
