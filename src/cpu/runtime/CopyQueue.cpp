#include "cpu/runtime/CopyQueue.h"

#include <algorithm>
#include <thread>

#include "cpu/runtime/CopyBytes.h"
#include "cpu/runtime/DmaHazardTracker.h"
#include "cpu/runtime/Pause.h"

namespace smalti::cpu {

using std::memory_order_acquire, std::memory_order_relaxed, std::memory_order_release;

namespace {
/// Some microseconds: a thread that has begun a copy takes no longer unless it was interrupted.
constexpr int kPausesBeforeYield = 200;

Span spanOf(const std::byte* first, int64_t runBytes, const std::array<int64_t, Copy::kMaxRank>& sizes,
            const std::array<int64_t, Copy::kMaxRank>& strides) {
  Span all{first, first + runBytes};
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] <= 0) return {first, first};
    const int64_t far = (sizes[d] - 1) * strides[d];
    (far < 0 ? all.begin : all.end) += far;
  }
  return all;
}

/// Another thread that sees a later store sees the non-temporal stores before it, which a copy may read.
void orderStreamingStores() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

}  // namespace

void Copy::execute() const {
  for (int64_t a = 0; a < sizes[0]; ++a)
    for (int64_t b = 0; b < sizes[1]; ++b)
      for (int64_t c = 0; c < sizes[2]; ++c) {
        std::byte* target = to + a * toStrides[0] + b * toStrides[1] + c * toStrides[2];
        const std::byte* source = from + a * fromStrides[0] + b * fromStrides[1] + c * fromStrides[2];
        for (int64_t d = 0; d < sizes[3]; ++d, target += toStrides[3], source += fromStrides[3])
          copyBytes(target, source, static_cast<size_t>(runBytes));
      }
}

bool Copy::mayConflict(const Copy& other) const {
  const Span target = spanOf(to, runBytes, sizes, toStrides), source = spanOf(from, runBytes, sizes, fromStrides);
  const Span otherTarget = spanOf(other.to, other.runBytes, other.sizes, other.toStrides);
  return target.meets(otherTarget) || source.meets(otherTarget) ||
         target.meets(spanOf(other.from, other.runBytes, other.sizes, other.fromStrides));
}

bool CopyQueue::push(const Copy& copy, const void* semaphore) {
  finishConflicting(copy);
  const int64_t number = pushed_.load(memory_order_relaxed);
  Slot& slot = slots_[static_cast<size_t>(number % kSlots)];
  if (slot.state.load(memory_order_acquire) != kFree) return false;
  slot.copy = copy;
  slot.semaphore = semaphore;
  orderStreamingStores();
  waiting_.fetch_add(copy.bytes(), memory_order_relaxed);
  slot.state.store(kReady, memory_order_release);
  pushed_.store(number + 1);
  return true;
}

bool CopyQueue::run(Slot& slot) {
  int ready = kReady;
  if (!slot.state.compare_exchange_strong(ready, kTaken, memory_order_acquire)) return false;
  waiting_.fetch_sub(slot.copy.bytes(), memory_order_relaxed);
  slot.copy.execute();
  slot.state.store(kFree, memory_order_release);
  return true;
}

bool CopyQueue::runOne() {
  for (int64_t next = begun_.load(memory_order_relaxed); next < pushed_.load(memory_order_acquire);) {
    if (!begun_.compare_exchange_weak(next, next + 1, memory_order_relaxed)) continue;
    // The owner may have taken it, and may have used the slot again: then this is a later copy, as good as any.
    if (run(slots_[static_cast<size_t>(next % kSlots)])) return true;
    next = begun_.load(memory_order_relaxed);
  }
  return false;
}

template <class Which>
void CopyQueue::finishThose(Which which) {
  const int64_t pushed = pushed_.load(memory_order_relaxed);
  done_ = std::max(done_, pushed - kSlots);  // their slots have been used again
  for (int64_t n = done_; n < pushed; ++n) {
    Slot& slot = slots_[static_cast<size_t>(n % kSlots)];
    if (slot.state.load(memory_order_acquire) != kFree && which(slot) && !run(slot))
      for (int i = 0; slot.state.load(memory_order_acquire) != kFree; ++i)
        i < kPausesBeforeYield ? pauseBriefly() : std::this_thread::yield();
    if (n == done_ && slot.state.load(memory_order_acquire) == kFree) ++done_;
  }
}

void CopyQueue::finishConflicting(const Copy& copy) {
  finishThose([&](const Slot& slot) { return copy.mayConflict(slot.copy); });
}

void CopyQueue::finish(const void* semaphore) {
  finishThose([&](const Slot& slot) { return !semaphore || slot.semaphore == semaphore; });
}

}  // namespace smalti::cpu
