// Reductions in loop nests.
#pragma once

#include <optional>
#include <span>

#include "cpu/emit/elements/Registers.h"
#include "eval/Reduce.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Operation.h"

namespace smalti::cpu {

/// The identity element, as a scalar register.
Reg identityOf(Builder&, eval::ReduceKind, DType);
Reg combine(Builder&, eval::ReduceKind, DType, Reg, Reg);

/// The registers of a reduction along a row. Maxima and minima of floats need three: the result of the processor's
/// instruction, which loses NaN and the sign of 0, and the information that restores these at the end.
using Accumulator = llvm::SmallVector<Reg, 3>;
Accumulator startAccumulator(Builder&, eval::ReduceKind, DType, int lanes);
/// A sum of floats may be contracted: if the value is a product, it is not rounded before it is added.
void accumulate(Builder&, eval::ReduceKind, DType, Accumulator&, Reg value);
/// Combines all accumulators and all of their lanes to one scalar.
Reg finishAccumulators(Builder&, eval::ReduceKind, DType, std::span<const Accumulator>);

}  // namespace smalti::cpu
