// Tracks copies between their start and their wait in checked code (--check): native copies complete when they
// start, but an access to their memory before the wait is a mistake.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace smalti::cpu {

/// Bytes from the first element to the last, including gaps.
struct Span {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  bool meets(const Span& other) const { return begin < other.end && other.begin < end && begin < end; }
  bool operator==(const Span&) const = default;
};

/// Functions return false if there may be a mistake.
class DmaHazardTracker {
 public:
  bool start(Span source, Span target, const void* semaphore, int64_t amount);
  /// A wait subtracted `amount` from the semaphore; `target`: the ref that the kernel names, or empty. It proves
  /// nothing: any of several copies that raise one semaphore may have arrived. All have once waits have subtracted the
  /// total.
  void wait(Span target, const void* semaphore, int64_t amount);
  bool access(Span, bool write) const;
  bool none() const { return flights_.empty(); }
  void clear() { flights_.clear(); }

 private:
  struct Flight {
    Span source, target;
    const void* semaphore = nullptr;
    int64_t left = 0;  ///< amount that waits must still subtract
  };
  std::vector<Flight> flights_;
};

/// Names of the functions that generated code calls; they return i32 (except wait), 0 for success:
/// start(context, source, source end, target, target end, semaphore, amount)
inline constexpr const char* kDmaStartSymbol = "smalti_cpu_dma_start";
/// wait(context, target, target end, semaphore, amount)
inline constexpr const char* kDmaWaitSymbol = "smalti_cpu_dma_wait";
/// access(context, begin, end, i32 write)
inline constexpr const char* kDmaAccessSymbol = "smalti_cpu_dma_access";

}  // namespace smalti::cpu
