// Two-stage modulo scheduling of loops whose iterations are long chains of dependent ops. Otherwise the processor's
// queues fill with the first ops of the next iteration while it waits for the current one. In the scheduled loop, one
// iteration runs the second half of its chain while the next one runs the first half.
//
// This is instruction scheduling, and decides on emitted code as any instruction scheduler does: the latency of a chain
// and the registers that are live across the cut are properties of instructions, which no plan has. No result depends
// on it.
#pragma once

#include "cpu/Processor.h"
#include "cpu/emit/elements/Registers.h"
#include "llvm/ADT/ArrayRef.h"

namespace smalti::cpu {

/// A loop with constant bounds whose body is one block: `body` branches to itself or to `after`, which is empty.
struct OneBlockLoop {
  llvm::BasicBlock *before, *body, *after;
  llvm::PHINode* index;  ///< 0, step, …, end - step
  int64_t end, step;
};

/// Replaces the loop if that pays. No iteration may load what another one stores. Returns the replacements of the last
/// iteration's values `wanted`; nothing if the loop is unchanged.
llvm::SmallVector<Reg, 8> moduloSchedule(const OneBlockLoop&, const Processor&, llvm::ArrayRef<Reg> wanted);

}  // namespace smalti::cpu
