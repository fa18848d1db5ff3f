// Emits a check that the processor that runs an object has the instructions for which it was compiled.
#pragma once

#include "cpu/Processor.h"

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace smalti::cpu {

/// Whether objects check for this processor at run time: those for x86-64 do.
bool objectsAskFor(const Processor&);

/// Adds `i1 f()`, false where the processor that runs it lacks a feature of `processor`, or its system does not keep
/// the vector registers. cpuid is asked once: virtual machines take microseconds for it. Null where !objectsAskFor.
llvm::Function* addProcessorCheck(llvm::Module&, const Processor& processor);

/// Limits a function to baseline x86-64 instructions, so that it can run before the check succeeds.
void useBaselineInstructions(llvm::Function&);

}  // namespace smalti::cpu
