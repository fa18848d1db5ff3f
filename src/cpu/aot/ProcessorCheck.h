// Emits a check that the processor that runs an object has the instructions for which it was compiled.
#pragma once

#include "cpu/Processor.h"

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace smalti::cpu {

/// Whether objects ask for this processor when they run: those for x86-64 do.
bool objectsAskFor(const Processor&);

/// Adds `i1 f()`, false where the processor that runs it lacks a feature of `processor`, or its system does not keep
/// the vector registers. cpuid is asked once: virtual machines take microseconds for it. Null where !objectsAskFor.
llvm::Function* addProcessorCheck(llvm::Module&, const Processor& processor);

/// Keeps a function to instructions that every x86-64 processor has, so that it may look before others are used.
void useBaselineInstructions(llvm::Function&);

}  // namespace smalti::cpu
