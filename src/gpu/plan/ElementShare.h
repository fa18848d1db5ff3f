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
  int64_t batch = 1;   ///< runs that a thread takes at once, so that several accesses are in flight
  int64_t rounds = 0;  ///< batches per thread; 0: threads take different numbers of runs, one at a time
  /// Every thread has the same number of elements, few enough for its registers, so that code needs no loop or branch.
  bool inRegisters = false;

  int64_t perThread() const { return elements / threads; }
  /// The number of a thread's run among all; its elements begin at `run` times that.
  int64_t runOf(int64_t thread, int64_t number) const { return number * threads + thread; }
};

/// Elements of a batch: two accesses of 16 bytes for elements of 16 bits, four for f32. Chosen, not measured.
inline constexpr int64_t kBatchElements = 16;
/// The most elements of a value that a thread keeps in registers, of which it has at most 255 (CUDA C++ Programming
/// Guide, "Technical Specifications per Compute Capability"). Chosen, not measured.
inline constexpr int64_t kElementsInRegisters = 32;

/// `longestRun`: a power of two.
ElementShare shareElements(std::span<const int64_t> shape, int64_t threads, int64_t longestRun);

}  // namespace smalti::gpu
