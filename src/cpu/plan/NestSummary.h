// A fused loop nest, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "smalti/array.h"

namespace smalti::cpu {

struct NestSummary {
  Shape rows{};  ///< of its loops; none: one dense row
  int64_t columns = 1;
  std::vector<std::string> ops{};   ///< fused, in program order: "arith.mulf"
  int phases = 1;                   ///< of a row: a row's reduction ends one
  int64_t rowBlock = 1;             ///< rows that take each phase together
  bool pipelinesLastPhase = false;  ///< the last phase runs during the next row's first ones
  int64_t prefetchRows = 0;         ///< rows that are prefetched before they are read; 0: none
  int prefetchLevel = 0;            ///< of the caches
  int64_t bufferedValues = 0;       ///< values of which rows are kept from phase to phase
  int64_t placedValues = 0;         ///< values that lie in memory when the nest is done
  int64_t stores = 0, reductions = 0;
};

}  // namespace smalti::cpu
