// Copies between their start and their wait, as checked code tells of them (--check): native copies happen when they
// start, but what touches them before they are waited for is a mistake.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace smalti::cpu {

/// Bytes from the first element to the last; gaps count.
struct Span {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  bool meets(const Span& other) const { return begin < other.end && other.begin < end && begin < end; }
  bool operator==(const Span&) const = default;
};

/// Functions are false where something may be wrong.
class Flights {
 public:
  bool start(Span source, Span target, const void* semaphore, int64_t amount);
  /// A wait took `amount` off the semaphore; `target`: what the kernel says it waited for, or empty, which proves
  /// nothing: of several copies that raise one semaphore, any may have arrived. All are safe when waits have taken all.
  void wait(Span target, const void* semaphore, int64_t amount);
  bool access(Span, bool write) const;
  bool none() const { return flights_.empty(); }
  void clear() { flights_.clear(); }

 private:
  struct Flight {
    Span source, target;
    const void* semaphore = nullptr;
    int64_t left = 0;  ///< of what waits must take
  };
  std::vector<Flight> flights_;
};

/// Names of the functions that generated code calls; i32 (but wait), 0 where all is well:
/// start(context, source, source end, target, target end, semaphore, amount)
inline constexpr const char* kFlightStartSymbol = "smalti_cpu_flight_start";
/// wait(context, target, target end, semaphore, amount)
inline constexpr const char* kFlightWaitSymbol = "smalti_cpu_flight_wait";
/// access(context, begin, end, i32 write)
inline constexpr const char* kFlightAccessSymbol = "smalti_cpu_flight_access";

}  // namespace smalti::cpu
