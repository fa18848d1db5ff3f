// Ops that checked code watches for copies in flight: those with the attribute tell the runtime what they touch
// (cpu/runtime/Flights.h), and the call ends with a fault where that may be a mistake.
#pragma once

#include "cpu/emit/Lowering.h"

namespace smalti::cpu {

/// On loads, stores, enqueue_dma, wait_dma and sem_wait. A load with the value "write" counts as one.
inline constexpr const char* kWatched = "smalti.watched";

void watchAccess(Lowering&, mlir::Operation&, const View& box, bool write);
void watchStart(Lowering&, mlir::Operation&, const View& source, const View& target, const View& semaphore, Reg amount);
/// `target`: null for a wait that names no ref.
void watchWait(Lowering&, mlir::Operation&, const View* target, const View& semaphore, Reg amount);

}  // namespace smalti::cpu
