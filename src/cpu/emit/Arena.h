// Allocates the memory of values between loop nests while code is emitted: constant offsets into one block of memory
// per thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

namespace smalti::cpu {

class Arena {
 public:
  /// Allocates a place that is freed when the last owner releases it.
  struct Block {
    int64_t offset = 0, bytes = 0;
  };
  std::shared_ptr<const Block> allocate(int64_t bytes);
  /// Allocates a place that nothing has used before, so that its contents survive from one grid step to the next: no
  /// earlier code, which runs again in the next step, overwrites it.
  std::shared_ptr<const Block> allocateUnused(int64_t bytes);
  int64_t peakBytes() const { return peak_; }
  static constexpr int64_t kAlignment = 64;

 private:
  std::shared_ptr<const Block> owned(Block);
  void release(const Block&);
  std::map<int64_t, int64_t> free_;  ///< offset → bytes, below `end_`
  int64_t end_ = 0, peak_ = 0;
};

}  // namespace smalti::cpu
