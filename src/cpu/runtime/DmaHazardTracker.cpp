#include "cpu/runtime/DmaHazardTracker.h"

#include <algorithm>

namespace smalti::cpu {

bool DmaHazardTracker::start(Span source, Span target, const void* semaphore, int64_t amount) {
  if (source.meets(target) || !access(source, false) || !access(target, true)) return false;
  flights_.push_back({source, target, semaphore, amount});
  return true;
}

void DmaHazardTracker::wait(Span /*target*/, const void* semaphore, int64_t amount) {
  int64_t left = 0;
  for (Flight& f : flights_) {
    if (f.semaphore != semaphore) continue;
    const int64_t paid = std::min(amount, f.left);
    f.left -= paid;
    amount -= paid;
    left += f.left;
  }
  if (left == 0) std::erase_if(flights_, [&](const Flight& f) { return f.semaphore == semaphore; });
}

bool DmaHazardTracker::access(Span span, bool write) const {
  return std::ranges::none_of(flights_,
                              [&](const Flight& f) { return span.meets(f.target) || (write && span.meets(f.source)); });
}

}  // namespace smalti::cpu
