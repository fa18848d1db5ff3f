#include "machine/observers/race/Credits.h"

namespace smalti::machine::race {

void Credits::raise(Epoch event, Clock clock, int64_t amount) {
  total_ += amount;
  credits_.push_back({event, std::move(clock), amount});
}

bool Credits::isNeeded(const Credit& credit, int64_t taken) const {
  int64_t others = 0;
  for (const Credit& other : credits_) {
    if (&other == &credit || other.clock.covers(credit.event)) continue;
    if ((others += other.amount) >= taken) return false;
  }
  return others < taken;
}

void Credits::see(int64_t count, Clock& waiter) const {
  if (count <= 0) return;
  for (const Credit& credit : credits_)
    if (isNeeded(credit, taken_ + count)) waiter.join(credit.clock);
}

void Credits::take(int64_t amount, Clock& waiter) {
  taken_ += amount;
  if (taken_ >= total_) {  // every event is needed
    for (const Credit& credit : credits_) waiter.join(credit.clock);
    credits_.clear();
    total_ = taken_ = 0;
    return;
  }
  std::vector<bool> needed;
  for (const Credit& credit : credits_) needed.push_back(isNeeded(credit, taken_));
  // Every needed event was present, and a successor of an event that is not needed is not needed either: the rest can
  // be counted without those.
  std::vector<Credit> rest;
  for (size_t i = 0; i < credits_.size(); ++i) {
    if (!needed[i]) {
      rest.push_back(std::move(credits_[i]));
      continue;
    }
    waiter.join(credits_[i].clock);
    total_ -= credits_[i].amount;
    taken_ -= credits_[i].amount;
  }
  credits_ = std::move(rest);
}

}  // namespace smalti::machine::race
