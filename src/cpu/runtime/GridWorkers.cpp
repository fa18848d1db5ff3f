#include "cpu/runtime/GridWorkers.h"

#include <thread>

#include "base/memory/BlockMemory.h"

namespace smalti::cpu {

GridWorker::GridWorker(int64_t arenaBytes, const FallbackOps& ops)
    : bytes(static_cast<size_t>(std::max<int64_t>(arenaBytes, 1))),
      arena(static_cast<std::byte*>(allocateBlock(bytes))),
      fallback(ops) {}

GridWorker::~GridWorker() {
  if (arena) freeBlock(arena, bytes);
}

IdleWorkers::~IdleWorkers() { delete last_.load(); }

std::unique_ptr<GridWorker> IdleWorkers::take() {
  if (GridWorker* last = last_.exchange(nullptr, std::memory_order_acquire)) return std::unique_ptr<GridWorker>(last);
  const std::unique_lock lock = tryLock();
  if (!lock || free_.empty()) return nullptr;
  auto worker = std::move(free_.back());
  free_.pop_back();
  return worker;
}

void IdleWorkers::give(std::unique_ptr<GridWorker> worker) {
  worker.reset(last_.exchange(worker.release(), std::memory_order_acq_rel));
  if (!worker) return;
  if (const std::unique_lock lock = tryLock()) free_.push_back(std::move(worker));
}

/// Gives up after a while: in a child forked while another thread held the lock, it is never released.
std::unique_lock<std::mutex> IdleWorkers::tryLock() {
  constexpr int kMaxTries = 1000;
  std::unique_lock lock(mutex_, std::try_to_lock);
  for (int tries = 0; !lock && tries < kMaxTries; ++tries) {
    std::this_thread::yield();
    static_cast<void>(lock.try_lock());
  }
  return lock;
}

}  // namespace smalti::cpu
