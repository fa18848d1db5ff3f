#include "machine/pipeline/Grid.h"

#include <algorithm>

namespace smalti::machine {

GridWalk::GridWalk(std::vector<int64_t> bounds) : GridWalk(std::move(bounds), 0, 0, 1) {}

GridWalk::GridWalk(std::vector<int64_t> bounds, int prefixRank, int64_t begin, int64_t end)
    : bounds_(std::move(bounds)), step_(bounds_.size(), 0), prefixRank_(prefixRank), prefixLeft_(end - begin) {
  done_ = begin >= end || std::any_of(bounds_.begin(), bounds_.end(), [](int64_t b) { return b <= 0; });
  if (done_) return;
  for (int d = prefixRank - 1; d >= 0; --d) {
    step_[d] = static_cast<int32_t>(begin % bounds_[d]);
    begin /= bounds_[d];
  }
}

GridWalk GridWalk::fixed(std::vector<int64_t> bounds, int dim, int64_t at) {
  GridWalk walk(std::move(bounds));
  walk.fixedDim_ = dim;
  if (at >= walk.bounds_[dim]) walk.done_ = true;
  walk.step_[dim] = static_cast<int32_t>(at);
  return walk;
}

void GridWalk::next() {
  for (int d = static_cast<int>(bounds_.size()) - 1; d >= 0; --d) {
    if (d == fixedDim_) continue;
    if (d == prefixRank_ - 1 && --prefixLeft_ <= 0) break;
    if (++step_[d] < bounds_[d]) return;
    step_[d] = 0;
  }
  done_ = true;
}

std::pair<int64_t, int64_t> coreShare(int64_t points, int core, int cores) {
  const int64_t each = (points + cores - 1) / cores;
  const int64_t begin = std::min(points, each * core);
  return {begin, std::min(points, begin + each)};
}

}  // namespace smalti::machine
