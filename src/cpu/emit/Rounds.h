// Loops that need not end: the code counts their rounds, and looks now and then whether it shall go on.
#pragma once

#include "cpu/emit/Lowering.h"

namespace smalti::cpu {

/// Whether rounds of the loop (scf.for, scf.while) are counted: unless its bounds are constants, so that with the loops
/// loops that are not counted either, it has few iterations.
bool countsRounds(mlir::Operation& loop);

/// Counts a round of the loop, at its end. Every so many rounds, a subtraction and a branch each, the code looks at its
/// CallLimits, and ends the call where they say so. Nothing between two looks knows of them: the look changes no
/// register.
void countRound(Lowering&, mlir::Operation& loop);

}  // namespace smalti::cpu
