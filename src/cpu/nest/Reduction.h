// Reductions as loop nests compute them.
#pragma once

#include <optional>
#include <span>

#include "cpu/emit/elements/Registers.h"
#include "eval/Reduce.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Operation.h"

namespace smalti::cpu {

eval::ReduceKind reductionKind(mlir::Operation&);
/// The op's kind where native code has it for the op's dtype.
std::optional<eval::ReduceKind> nativeReductionKind(mlir::Operation&);
/// What changes nothing, as a scalar register.
Reg identityOf(Builder&, eval::ReduceKind, DType);
Reg combine(Builder&, eval::ReduceKind, DType, Reg, Reg);

/// What a reduction keeps while it walks a row, in registers. Largest and least floats keep three: what the processor's
/// instruction makes of them, which loses NaN and the sign of 0, and what brings these back in the end.
using Accumulator = llvm::SmallVector<Reg, 3>;
Accumulator startAccumulator(Builder&, eval::ReduceKind, DType, int lanes);
void accumulate(Builder&, eval::ReduceKind, DType, Accumulator&, Reg value);
/// All of them, and all of their lanes, as one scalar.
Reg finishAccumulators(Builder&, eval::ReduceKind, DType, std::span<const Accumulator>);

}  // namespace smalti::cpu
