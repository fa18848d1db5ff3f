// Determines whether suspicious results of `run` depend on undefined memory.
#pragma once

#include <string>

#include "driver/cli/run/Inputs.h"
#include "driver/program/RunProgram.h"

namespace smalti::cli {

/// One line when undefined memory reaches the results, "" when it does not. Only results with NaN, or with integers
/// that the machine puts into undefined memory, are looked into: the machine runs the program once more, and follows
/// undefined elements for a bounded number of instructions.
std::string undefinedMemoryNote(const Prepared&, const driver::RunSettings&, const driver::RunOutcome&);

}  // namespace smalti::cli
