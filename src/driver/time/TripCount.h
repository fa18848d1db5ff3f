// How often a counted loop around no kernel runs.
#pragma once

#include <cstdint>
#include <optional>

#include "driver/time/Known.h"

namespace smalti::driver {

struct TripCount {
  int64_t iterations = 0;
  size_t counter = 0;  ///< position of the carried integer
};

/// Of a "while" that compares a carried integer with a known number and adds a known number to it; nullopt: another
/// loop, or one that does not end before the integer overflows.
std::optional<TripCount> tripCount(const Program&, const Function&, const Op& loop, const KnownValues&);

}  // namespace smalti::driver
