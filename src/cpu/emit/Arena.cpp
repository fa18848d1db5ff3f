#include "cpu/emit/Arena.h"

#include <algorithm>

namespace smalti::cpu {
namespace {

int64_t aligned(int64_t bytes) {
  return std::max(Arena::kAlignment, (bytes + Arena::kAlignment - 1) / Arena::kAlignment * Arena::kAlignment);
}

}  // namespace

std::shared_ptr<const Arena::Block> Arena::allocate(int64_t bytes) {
  bytes = aligned(bytes);
  Block block{end_, bytes};
  auto best = free_.end();
  for (auto at = free_.begin(); at != free_.end(); ++at)
    if (at->second >= bytes && (best == free_.end() || at->second < best->second)) best = at;
  if (best != free_.end()) {
    block.offset = best->first;
    const int64_t rest = best->second - bytes;
    free_.erase(best);
    if (rest > 0) free_[block.offset + bytes] = rest;
  } else {
    end_ += bytes;
    peak_ = std::max(peak_, end_);
  }
  return owned(block);
}

std::shared_ptr<const Arena::Block> Arena::allocateUnused(int64_t bytes) {
  const Block block{peak_, aligned(bytes)};
  const int64_t before = end_;
  end_ = peak_ = block.offset + block.bytes;
  if (before < block.offset) release({before, block.offset - before});
  return owned(block);
}

std::shared_ptr<const Arena::Block> Arena::owned(Block block) {
  return {new Block(block), [this](const Block* b) {
            release(*b);
            delete b;
          }};
}

void Arena::release(const Block& block) {
  auto [at, added] = free_.emplace(block.offset, block.bytes);
  if (auto next = std::next(at); next != free_.end() && at->first + at->second == next->first) {
    at->second += next->second;
    free_.erase(next);
  }
  if (at != free_.begin())
    if (auto before = std::prev(at); before->first + before->second == at->first) {
      before->second += at->second;
      free_.erase(at);
      at = before;
    }
  if (at->first + at->second == end_) {
    end_ = at->first;
    free_.erase(at);
  }
}

}  // namespace smalti::cpu
