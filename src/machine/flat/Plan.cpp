#include "machine/flat/Plan.h"

#include "base/Arithmetic.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace smalti::machine::flat {
namespace {

constexpr int64_t kAlignment = 64;
int64_t aligned(int64_t bytes) { return roundUp(bytes, kAlignment); }

int64_t peakOf(const std::vector<Interval>& intervals) {
  std::map<int, int64_t> changes;  // instruction → bytes that begin or end there
  for (const Interval& i : intervals) {
    changes[i.first] += aligned(i.bytes);
    changes[i.last + 1] -= aligned(i.bytes);
  }
  int64_t now = 0, peak = 0;
  for (const auto& [instruction, change] : changes) peak = std::max(peak, now += change);
  return peak;
}

}  // namespace

ArenaPlan planArena(const std::vector<Interval>& intervals) {
  ArenaPlan plan;
  plan.offsets.assign(intervals.size(), 0);
  plan.peak = peakOf(intervals);
  std::vector<size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return intervals[a].bytes > intervals[b].bytes; });
  // Comparing each pair is too slow for functions of very many values; those are allocated consecutively.
  constexpr size_t kMaxCompared = 20'000;
  std::vector<size_t> placed;  // sorted by offset
  for (size_t index : order) {
    const Interval& interval = intervals[index];
    int64_t offset = 0;
    if (order.size() > kMaxCompared) {
      offset = plan.bytes;
    } else {
      for (size_t other : placed) {
        const Interval& o = intervals[other];
        if (o.last < interval.first || interval.last < o.first) continue;
        if (plan.offsets[other] >= offset + aligned(interval.bytes)) break;
        offset = std::max(offset, plan.offsets[other] + aligned(o.bytes));
      }
      const auto at = std::upper_bound(placed.begin(), placed.end(), offset,
                                       [&](int64_t o, size_t i) { return o < plan.offsets[i]; });
      placed.insert(at, index);
    }
    plan.offsets[index] = offset;
    plan.bytes = std::max(plan.bytes, offset + aligned(interval.bytes));
  }
  return plan;
}

}  // namespace smalti::machine::flat
