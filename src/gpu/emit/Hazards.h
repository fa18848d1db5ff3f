// Determines where barriers are needed: the memory that threads of a block have accessed since the last one.
#pragma once

#include "llvm/ADT/DenseSet.h"

namespace smalti::gpu {

/// Numbers of memories that never overlap.
using MemorySet = llvm::SmallDenseSet<int, 8>;

class Hazards {
 public:
  /// Whether threads that go on to read and write these must wait for others first.
  bool needBarrier(const MemorySet& reads, const MemorySet& writes) const {
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
  /// Accesses of these memories need no barrier.
  void forget(const MemorySet& memories) {
    for (const int m : memories) read_.erase(m), written_.erase(m);
  }
  void clear() { *this = {}; }
  bool none() const { return read_.empty() && written_.empty(); }
  /// Of either of two ways that come together.
  void join(const Hazards& other) {
    note(other.read_, other.written_);
    reused_ |= other.reused_;
  }
  /// Accessed memory may be reused for another value.
  void handOver(int from) {
    if (read_.contains(from) || written_.contains(from)) reused_ = true;
  }
  bool reused() const { return reused_; }

 private:
  MemorySet read_, written_;
  bool reused_ = false;
};

}  // namespace smalti::gpu
