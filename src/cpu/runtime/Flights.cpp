#include "cpu/runtime/Flights.h"

#include <algorithm>

namespace smalti::cpu {

bool Flights::start(Span source, Span target, const void* semaphore, int64_t amount) {
  if (source.meets(target) || !access(source, false) || !access(target, true)) return false;
  flights_.push_back({source, target, semaphore, amount});
  return true;
}

bool Flights::wait(Span target, const void* semaphore, int64_t amount) {
  const auto on = [&](const Flight& f) { return f.semaphore == semaphore; };
  auto found = std::ranges::find_if(flights_,
                                    [&](const Flight& f) { return on(f) && f.amount == amount && f.target == target; });
  if (found == flights_.end())
    found = std::ranges::find_if(flights_, [&](const Flight& f) { return on(f) && f.amount == amount; });
  // Part of one, or of several: the machine follows that.
  if (found == flights_.end()) return std::ranges::none_of(flights_, on);
  flights_.erase(found);
  return true;
}

bool Flights::access(Span span, bool write) const {
  return std::ranges::none_of(flights_,
                              [&](const Flight& f) { return span.meets(f.target) || (write && span.meets(f.source)); });
}

}  // namespace smalti::cpu
