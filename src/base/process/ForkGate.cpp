#include "base/process/ForkGate.h"

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "base/memory/BlockMemory.h"

namespace smalti {
namespace {

/// The number of threads inside the gate, and whether one is forking.
constexpr uint32_t kForking = uint32_t{1} << 31;
constinit std::atomic<uint32_t> gState{0};
/// How many such pieces of work are nested on this thread.
thread_local constinit int tDepth = 0;

uint32_t own() { return tDepth > 0 ? 1 : 0; }

void beforeFork() {
  for (uint32_t before = gState.fetch_or(kForking); before & kForking; before = gState.fetch_or(kForking))
    gState.wait(before);  // another thread forks
  for (uint32_t now = gState.load(); (now & ~kForking) > own(); now = gState.load()) gState.wait(now);
  lockBlocks();
}

void afterForkInParent() {
  unlockBlocks();
  gState.fetch_and(~kForking);
  gState.notify_all();
}

void afterForkInChild() {
  unlockBlocks();
  gState.store(own());
}

/// When the library is loaded, or the program begins.
[[maybe_unused]] const int kAsked = pthread_atfork(beforeFork, afterForkInParent, afterForkInChild);

}  // namespace

UnforkedWork::UnforkedWork() {
  if (tDepth++ > 0) return;
  for (uint32_t now = gState.load(std::memory_order_relaxed);;) {
    if (now & kForking) {
      gState.wait(now);
      now = gState.load(std::memory_order_relaxed);
    } else if (gState.compare_exchange_weak(now, now + 1)) {
      return;
    }
  }
}

UnforkedWork::~UnforkedWork() {
  if (--tDepth > 0) return;
  if (gState.fetch_sub(1, std::memory_order_release) & kForking) gState.notify_all();
}

void waitForUnforkedWork(std::chrono::milliseconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  while ((gState.load() & ~kForking) > own() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace smalti
