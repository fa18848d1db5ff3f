// Determines where barriers are needed, from the memory that threads of a block have accessed since the last one.
#pragma once

#include "llvm/ADT/DenseSet.h"

namespace smalti::gpu {

/// Numbers of memories that never overlap.
using MemorySet = llvm::SmallDenseSet<int, 8>;

class Hazards {
 public:
  /// Whether a barrier is needed before threads read and write these memories.
  bool needsBarrier(const MemorySet& reads, const MemorySet& writes) const {
    for (const int m : reads)
      if (written_.contains(m)) return true;
    for (const int m : writes)
      if (written_.contains(m) || read_.contains(m)) return true;
    return false;
  }
  void note(const MemorySet& reads, const MemorySet& writes) {
    read_.insert(reads.begin(), reads.end());
    written_.insert(writes.begin(), writes.end());
  }
  /// Earlier accesses of these memories need no barrier.
  void forget(const MemorySet& memories) {
    for (const int m : memories) read_.erase(m), written_.erase(m);
  }
  void clear() { *this = {}; }
  bool none() const { return read_.empty() && written_.empty(); }
  /// Adds the accesses of another path of control flow that joins this one.
  void join(const Hazards& other) {
    note(other.read_, other.written_);
    reused_ |= other.reused_;
  }
  /// The memory may be allocated again for another value.
  void markReusable(int memory) {
    if (read_.contains(memory) || written_.contains(memory)) reused_ = true;
  }
  /// Whether allocated memory may have been accessed since the last barrier.
  bool reused() const { return reused_; }

 private:
  MemorySet read_, written_;
  bool reused_ = false;
};

}  // namespace smalti::gpu
