// Reductions as loop nests compute them.
#pragma once

#include "cpu/lower/Registers.h"
#include "eval/Reduce.h"
#include "mlir/IR/Operation.h"

namespace smalti::cpu {

eval::ReduceKind reductionKind(mlir::Operation&);
/// Reduces just the columns: its result is known when a row of the nest is done.
bool isRowReduction(mlir::Operation&);
/// What changes nothing, as a scalar register.
Reg identityOf(Builder&, eval::ReduceKind, DType);
Reg combine(Builder&, eval::ReduceKind, DType, Reg, Reg);
/// All lanes of a vector combined.
Reg combineLanes(Builder&, eval::ReduceKind, DType, Reg);

}  // namespace smalti::cpu
