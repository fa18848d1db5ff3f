#include "machine/observers/race/AllOrders.h"

#include <algorithm>

namespace smalti::machine::race {

int AllOrders::addThread(bool begun) {
  threads_.push_back({begun, {}});
  return static_cast<int>(threads_.size()) - 1;
}

void AllOrders::add(Access access) {
  const auto [it, isNew] = memoryOf_.try_emplace(access.footprint.allocation(), memories_.size());
  if (isNew) memories_.emplace_back();
  std::vector<Access>& all = memories_[it->second];
  // The accesses of one thread between two operations are close to each other, among those of other threads.
  constexpr size_t kLookBack = 32;
  for (size_t i = all.size(); i > 0 && all.size() - i < kLookBack; --i) {
    const Access& a = all[i - 1];
    if (a.thread == access.thread && a.after == access.after && a.within == access.within &&
        (a.write || !access.write) && a.party.isAtomic() == access.party.isAtomic() &&
        contains(a.footprint, access.footprint))
      return;
  }
  ++size_;
  all.push_back(std::move(access));
}

std::vector<int> AllOrders::farthest(int thread, int most) const {
  std::vector<int> done(threads_.size(), 0);
  std::vector<bool> begun;
  for (const Thread& t : threads_) begun.push_back(t.begun);
  std::map<int, int64_t> counts;
  std::map<int, int> waiting;  // by semaphore: its owner's thread
  std::vector<int> ready;
  for (size_t t = 0; t < threads_.size(); ++t)
    if (begun[t]) ready.push_back(static_cast<int>(t));
  std::vector<std::vector<int>> followers(threads_.size());
  const auto ended = [&](int t) {
    return done[static_cast<size_t>(t)] == static_cast<int>(threads_[static_cast<size_t>(t)].operations.size());
  };
  while (!ready.empty()) {
    const int t = ready.back();
    ready.pop_back();
    const auto at = static_cast<size_t>(t);
    while (!ended(t) && (t != thread || done[at] < most)) {
      const Operation& o = threads_[at].operations[static_cast<size_t>(done[at])];
      const auto before = std::find_if_not(o.follows.begin(), o.follows.end(), ended);
      if (before != o.follows.end()) {
        followers[static_cast<size_t>(*before)].push_back(t);
        break;
      }
      if (o.waitsOn >= 0) {
        if (counts[o.waitsOn] < o.waitsFor) {
          waiting[o.waitsOn] = t;
          break;
        }
        if (o.takes) counts[o.waitsOn] -= o.waitsFor;
      }
      ++done[at];
      if (o.raises >= 0) {
        counts[o.raises] += o.raisesBy;
        if (const auto w = waiting.find(o.raises); w != waiting.end()) {
          ready.push_back(w->second);
          waiting.erase(w);
        }
      }
      if (o.begins >= 0) ready.push_back(o.begins);
    }
    if (ended(t)) {
      ready.insert(ready.end(), followers[at].begin(), followers[at].end());
      followers[at].clear();
    }
  }
  return done;
}

bool AllOrders::races(int64_t mostWork, const std::function<void(const Access&, const Access&)>& race) const {
  int64_t steps = 1, work = 0;
  for (const Thread& t : threads_) steps += static_cast<int64_t>(t.operations.size()) + 1;
  std::map<std::pair<int, int>, std::vector<int>> reached;  // with a thread halted
  const auto with = [&](const Access& halted) -> const std::vector<int>& {
    auto [it, isNew] = reached.try_emplace({halted.thread, halted.after});
    if (isNew) {
      it->second = farthest(halted.thread, halted.after);
      work += steps;
    }
    return it->second;
  };
  const auto canCome = [&](const Access& a, const Access& halted) {
    return with(halted)[static_cast<size_t>(a.thread)] >= a.after + (a.within ? 1 : 0);
  };
  for (const std::vector<Access>& all : memories_)
    for (size_t i = 0; i < all.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        if (++work > mostWork) return false;
        const Access &a = all[j], &b = all[i];
        if (a.thread == b.thread || !conflict(a.write, a.party, b.write, b.party) || !meet(a.footprint, b.footprint))
          continue;
        if (canCome(a, b) && canCome(b, a)) race(a, b);
      }
  return true;
}

}  // namespace smalti::machine::race
