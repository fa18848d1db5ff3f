// Atomic updates of single elements.
#pragma once

#include "cpu/emit/elements/Registers.h"
#include "ir/facts/Atomics.h"

namespace smalti::cpu {

/// Updates the element, an f32 or i32, atomically; returns the element before the update. It orders no other access of
/// memory. `expected`: of a compareExchange, otherwise null. `scope`: the threads for which it is atomic, a name of
/// LLVM's target; empty: all.
Reg updateAtomically(Builder&, AtomicKind, DType, Reg pointer, Reg value, Reg expected, llvm::StringRef scope = {});

}  // namespace smalti::cpu
