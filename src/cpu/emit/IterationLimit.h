// Loops that may be endless: the code counts their iterations, and regularly checks whether to continue.
#pragma once

#include "cpu/emit/NativeLowering.h"

namespace smalti::cpu {

/// Whether iterations of the loop (scf.for, scf.while) are counted. They are, unless its bounds are constants, and it
/// has few iterations together with the uncounted loops in it.
bool countsIterations(mlir::Operation& loop);

/// Counts an iteration of the loop, at its end: a subtraction and a branch. At fixed intervals the code reads its
/// CallLimits, and ends the call if they demand it. No code between two such reads depends on them: a read changes no
/// register.
void countIteration(NativeLowering&, mlir::Operation& loop);

}  // namespace smalti::cpu
