// Loops that need not end: the code counts their rounds, and looks now and then whether it shall go on.
#pragma once

#include "cpu/emit/Lowering.h"

namespace smalti::cpu {

/// Whether rounds of the loop (scf.for, scf.while) are counted: unless its bounds are constants, and it has few
/// iterations together with the uncounted loops in it.
bool countsRounds(mlir::Operation& loop);

/// Counts a round of the loop, at its end: a subtraction and a branch. At a fixed interval of rounds the code reads its
/// CallLimits, and ends the call where they say so. No code between two such reads depends on them: a read changes no
/// register.
void countRound(Lowering&, mlir::Operation& loop);

}  // namespace smalti::cpu
