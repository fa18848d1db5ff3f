// Places of vectors in the arena.
#pragma once

#include <cstdint>
#include <vector>

namespace smalti::machine::flat {

/// Bytes needed from instruction `first` to `last` (both included).
struct Interval {
  int64_t bytes = 0;
  int first = 0, last = 0;
};

struct ArenaPlan {
  std::vector<int64_t> offsets;  ///< per interval, multiples of 64
  int64_t bytes = 0;             ///< of the arena
  int64_t peak = 0;              ///< of the largest set of intervals that overlap in time
};

/// Intervals that overlap in time get places that do not overlap; largest first, lowest free place.
ArenaPlan planArena(const std::vector<Interval>&);

}  // namespace smalti::machine::flat
