// Loops whose values go from one pass to the next, for emitters that keep sums or bests in registers.
#pragma once

#include "cpu/lower/Lowering.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace smalti::cpu {

using Carried = llvm::SmallVector<Reg, 24>;
using CarriedBody = llvm::function_ref<Carried(Reg index, const Carried&)>;
/// for (index = begin; index < end; index += step) carried = body(index, carried); gives the last `carried`. No code
/// where there is no pass.
Carried carriedLoop(Lowering&, int64_t begin, int64_t end, int64_t step, const Carried& carried, CarriedBody body);

}  // namespace smalti::cpu
