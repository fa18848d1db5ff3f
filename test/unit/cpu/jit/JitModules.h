// LLVM modules for the tests of the Jit.
#pragma once

#include "cpu/jit/Jit.h"

namespace smalti::cpu {

/// `int64_t add(int64_t, int64_t)`.
ModuleBuilder addModule(const Processor&);
/// `int64_t ask(int64_t x)`: calls `callee(x)`, a function of the process, and adds 1.
ModuleBuilder callingModule(const Processor&, const char* callee);
/// `void vadd(float* out, const float* a, const float* b)`: one add of vectors of `lanes` elements.
ModuleBuilder vectorModule(const Processor&, int lanes);
/// `void tile(float* c, const float* a, const float* b, int64_t k)`: rows x (columns * lanes) accumulators, the k loop
/// unrolled; a is [k][rows], b is [k][columns * lanes].
ModuleBuilder matmulModule(const Processor&, int rows, int columns, int unroll);

}  // namespace smalti::cpu
