// How the threads of a block divide the elements of a value: each takes runs of consecutive elements, which one access
// of 16 bytes reads or writes; consecutive threads take consecutive runs.
#pragma once

#include <cstdint>
#include <span>

namespace smalti::gpu {

struct ElementShare {
  int64_t elements = 0;
  int64_t threads = 1;
  int64_t run = 1;     ///< a power of two that divides the size of the last dimension
  int64_t batch = 1;   ///< runs that a thread takes together, so that as many accesses are in flight
  int64_t rounds = 0;  ///< batches of each thread; 0: threads take different numbers of runs, one at a time
  /// Every thread has the same number of elements, few enough for its registers: code without loops and branches.
  bool inRegisters = false;

  int64_t perThread() const { return elements / threads; }
  /// The number of a thread's run among all; its elements begin at `run` times that.
  int64_t runOf(int64_t thread, int64_t number) const { return number * threads + thread; }
};

/// Elements that a thread takes together, and at most keeps.
inline constexpr int64_t kBatchElements = 16, kElementsInRegisters = 32;

/// `longestRun`: a power of two.
ElementShare shareElements(std::span<const int64_t> shape, int64_t threads, int64_t longestRun);

}  // namespace smalti::gpu
