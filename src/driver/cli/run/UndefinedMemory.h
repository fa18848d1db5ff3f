// Determines whether suspicious results of `run` depend on undefined memory.
#pragma once

#include <string>

#include "driver/cli/run/Inputs.h"
#include "driver/program/RunProgram.h"

namespace smalti::cli {

/// A note when undefined memory reaches the results, "" when it does not. The machine runs the program once more, and
/// follows undefined elements for a bounded number of instructions, where there is a reason to: a result holds NaN or
/// what the machine puts into undefined integers (of fewer than 32 bits, a row of lanes of it), the run read outside of
/// refs, or the target keeps earlier contents in blocks that extend past their arrays. Undefined unsigned integers are
/// 0 and are not recognised, nor is i16.
std::string undefinedMemoryNote(const Prepared&, const driver::RunSettings&, const driver::RunOutcome&);

}  // namespace smalti::cli
