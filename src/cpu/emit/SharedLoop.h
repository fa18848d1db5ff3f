// Work inside a grid step that the threads of a call share, where they cannot share the grid
// (BodyPlanner::stepThreads).
#pragma once

#include <functional>

#include "cpu/emit/View.h"

namespace llvm {
class AllocaInst;
class BasicBlock;
}  // namespace llvm

namespace smalti::cpu {

class NativeLowering;

/// Runs a function of the code for ranges that together are [0, count), on the threads of the call.
inline constexpr const char* kShareSymbol = "smalti_cpu_share";

/// The code of one shared piece of work, part of the kernel's function until outlineShared().
struct SharedRegion {
  llvm::AllocaInst* range = nullptr;  ///< [2 x i64]: the first number, and past the last, that the code computes
  int64_t count = 0;
  llvm::BasicBlock *first = nullptr, *after = nullptr;  ///< its blocks: those from `first` on that lead to `after`
};

/// Emits `body(first, last)`, which computes [first, last) of [0, count). The ranges are independent: they write
/// different memory, read nothing that another one writes, and call no function of the runtime.
void emitShared(NativeLowering&, int64_t count, const std::function<void(Reg first, Reg last)>& body);

/// Makes a function of each shared region of the complete kernel, for the threads to call, after finishStreaming(). A
/// region that cannot be a function remains part of the kernel, which computes it on one thread.
void outlineShared(NativeLowering&);

}  // namespace smalti::cpu
