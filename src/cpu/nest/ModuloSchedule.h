// Loops whose trips are long chains of dependent ops: a processor waits for a trip's results with its queues full of
// the next one's first ops. Two trips run concurrently instead, one in the first half of its chain, one in the
// second.
#pragma once

#include "cpu/Processor.h"
#include "cpu/emit/elements/Registers.h"
#include "llvm/ADT/ArrayRef.h"

namespace smalti::cpu {

/// A loop that is one block: `body` branches to itself or to `after`, which is empty; constants give its bounds.
struct OneBlockLoop {
  llvm::BasicBlock *before, *body, *after;
  llvm::PHINode* index;  ///< 0, step, …, end - step
  int64_t end, step;
};

/// Replaces the loop where that pays. No trip may load what another stores. Gives what the last trip's values,
/// those of `wanted`, are now called; nothing where the loop is as it was.
llvm::SmallVector<Reg, 8> moduloSchedule(const OneBlockLoop&, const Processor&, llvm::ArrayRef<Reg> wanted);

}  // namespace smalti::cpu
