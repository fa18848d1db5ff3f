// The copies that one call has started and not yet waited for.
#pragma once

#include <memory>
#include <utility>

#include "cpu/ops/SharedCopies.h"
#include "cpu/runtime/Pool.h"

namespace smalti::cpu {

class AsyncCopies {
 public:
  /// To be called at the start of a call. `threads`: that may share its work.
  void begin(int threads) {
    threads_ = threads;
    asked_ = false;
  }
  /// Executes the copy now, or leaves it to idle threads.
  void start(const Copy& copy, const void* semaphore) {
    if (worthSharing(copy) && shared_->push(copy, semaphore)) return;
    if (shared_) shared_->finishConflicting(copy);
    copy.execute();
  }
  /// Returns when the copies that raise this semaphore are done; null: all.
  void finish(const void* semaphore) {
    if (shared_) shared_->finish(semaphore);
  }
  /// To be called at the end of a call.
  void end() { shared_.reset(); }

 private:
  bool worthSharing(const Copy& copy) {
    if (threads_ < 2 || copy.bytes() < kFewestSharedBytes) return false;
    if (!std::exchange(asked_, true)) shared_ = SharedCopies::take(threads_);
    return shared_ != nullptr;
  }

  int threads_ = 1;
  bool asked_ = false;
  std::unique_ptr<SharedCopies> shared_;  ///< null: not yet asked for, or not to be had
};

/// Names of the functions that generated code calls: start(context, Copy*, semaphore), finish(context, semaphore).
inline constexpr const char* kCopyStartSymbol = "smalti_cpu_copy_start";
inline constexpr const char* kCopyFinishSymbol = "smalti_cpu_copy_finish";

}  // namespace smalti::cpu
