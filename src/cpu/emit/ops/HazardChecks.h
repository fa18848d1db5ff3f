// Hazard checks: ops with the attribute kHazardChecked report the memory that they access to the runtime
// (cpu/runtime/DmaHazardTracker.h), and the call ends with a fault if a copy in flight may conflict with it.
#pragma once

#include "cpu/emit/NativeLowering.h"

namespace smalti::cpu {

void emitHazardCheck(NativeLowering&, mlir::Operation&, const View& box, bool write);
void trackCopyStart(NativeLowering&, mlir::Operation&, const View& source, const View& target, const View& semaphore,
                    Reg amount);
/// `target`: null for a wait without a ref.
void trackCopyWait(NativeLowering&, mlir::Operation&, const View* target, const View& semaphore, Reg amount);

}  // namespace smalti::cpu
