#include "machine/pipeline/Grid.h"

#include <algorithm>
#include <bit>

namespace smalti::machine {

GridWalk::GridWalk(std::vector<int64_t> bounds) : GridWalk(std::move(bounds), 0, 0, 1) {}

GridWalk::GridWalk(std::vector<int64_t> bounds, uint64_t shared, int core, int cores)
    : bounds_(std::move(bounds)), step_(bounds_.size(), 0), shared_(shared), core_(core), cores_(cores) {
  done_ = std::any_of(bounds_.begin(), bounds_.end(), [](int64_t b) { return b <= 0; });
  findMine();
}

bool GridWalk::isMine() const {
  if (cores_ == 1) return true;
  int64_t runs = 0;
  for (size_t d = 0; d < bounds_.size(); ++d)
    if (shared_ >> d & 1) runs += step_[d] / ((bounds_[d] + cores_ - 1) / cores_);
  return runs % cores_ == core_;
}

GridWalk GridWalk::fixed(std::vector<int64_t> bounds, int dim, int64_t at) {
  GridWalk walk(std::move(bounds));
  walk.fixedDim_ = dim;
  if (at >= walk.bounds_[dim]) walk.done_ = true;
  walk.step_[dim] = static_cast<int32_t>(at);
  return walk;
}

void GridWalk::next() {
  advance();
  findMine();
}

/// The points of a run differ only in the last shared axis and in those after it: points of another core are skipped at
/// once.
void GridWalk::findMine() {
  if (cores_ == 1 || shared_ == 0) return;
  const int last = 63 - std::countl_zero(shared_);
  const int64_t run = (bounds_[last] + cores_ - 1) / cores_;
  if (std::has_single_bit(shared_) && core_ * run >= bounds_[last]) done_ = true;
  while (!done_ && !isMine()) {
    const int64_t next = (step_[last] / run + 1) * run;
    step_[last] = static_cast<int32_t>(std::min(next, bounds_[last]) - 1);
    for (size_t d = static_cast<size_t>(last) + 1; d < bounds_.size(); ++d)
      step_[d] = static_cast<int32_t>(bounds_[d] - 1);
    advance();
  }
}

void GridWalk::advance() {
  for (int d = static_cast<int>(bounds_.size()) - 1; d >= 0; --d) {
    if (d == fixedDim_) continue;
    if (++step_[d] < bounds_[d]) return;
    step_[d] = 0;
  }
  done_ = true;
}

}  // namespace smalti::machine
