// Memory for values between loop nests: places in one block of memory per thread, planned while code is emitted.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

namespace smalti::cpu {

class Arena {
 public:
  /// A place that is free again when the last owner lets go of it.
  struct Block {
    int64_t offset = 0, bytes = 0;
  };
  std::shared_ptr<const Block> allocate(int64_t bytes);
  /// A place that nothing had before: what it holds from one grid step to the next is not written over by code that has
  /// been emitted already and runs again.
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
