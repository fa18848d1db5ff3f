// What the threads of a call work with, kept for later calls.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "cpu/runtime/EntryPoints.h"

namespace smalti::cpu {

/// The memory and the state of one thread of a call.
struct GridWorker {
  /// `arena` is null where there is no memory.
  GridWorker(int64_t arenaBytes, const FallbackOps&);
  ~GridWorker();
  GridWorker(const GridWorker&) = delete;
  GridWorker& operator=(const GridWorker&) = delete;

  size_t bytes;
  std::byte* arena;
  FallbackContext fallback;
  KernelContext context{{}, &fallback};
};

/// Workers that no call uses at the moment; the last one given back is the first one taken. Thread-safe.
class IdleWorkers {
 public:
  ~IdleWorkers();
  /// Null when there is none.
  std::unique_ptr<GridWorker> take();
  void give(std::unique_ptr<GridWorker>);

 private:
  std::unique_lock<std::mutex> tryLock();

  std::atomic<GridWorker*> last_{nullptr};  ///< given back last; accessed without the lock
  std::mutex mutex_;
  std::vector<std::unique_ptr<GridWorker>> free_;
};

}  // namespace smalti::cpu
