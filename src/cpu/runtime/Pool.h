// The thread pool: idle threads spin for a moment, then sleep.
#pragma once

#include <cstdint>
#include <memory>

#include "cpu/runtime/CopyQueue.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace smalti::cpu {

/// Cores that this thread may run on, within what its container grants; at least 1. Makes a system call.
int availableCores();

/// Calls `body(first, last, worker)` for ranges that together are [0, points), on up to `threads` threads with the
/// caller among them (0: one per available core); returns when all have returned. A free thread takes the next range, a
/// share of the remaining points: the last ranges are single points, so that no thread waits long for another, even if
/// that woke late or was interrupted. A worker, from 0 (the caller) to threads - 1, runs one range at a time. Writes
/// before the call are visible to every range, writes of the ranges to the caller afterwards. If it is called inside a
/// range, or while another user thread holds the pool, everything runs on the caller in one range, as worker 0. If
/// several user threads call, each keeps a core, and workers beyond `threads` in total release theirs to them. `body`
/// does not throw.
void parallelFor(int64_t points, int threads, llvm::function_ref<void(int64_t first, int64_t last, int worker)> body);

/// Calls `body(member)` for members 0 (on the caller) to members - 1, each on a thread of its own, so that they may
/// wait for each other; returns when all have returned. False: the system has no more threads, and nothing has run.
bool runOnThreads(int members, llvm::function_ref<void(int member)> body);

/// A queue of copies that idle threads of the pool execute, up to `threads` with the caller among them. One user thread
/// has it at a time.
class SharedCopies {
 public:
  /// Null: another thread has the queue, this one is inside a range of parallelFor, or there are no other threads.
  static std::unique_ptr<SharedCopies> take(int threads);
  /// Finishes all.
  virtual ~SharedCopies() = default;

  /// As CopyQueue's.
  virtual void finishConflicting(const Copy&) = 0;
  virtual bool push(const Copy&, const void* semaphore) = 0;
  virtual void finish(const void* semaphore) = 0;
};

}  // namespace smalti::cpu
