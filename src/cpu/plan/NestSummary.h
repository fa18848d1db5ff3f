// A fused loop nest, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "smalti/array.h"

namespace smalti::schedule {
struct Segment;
struct Nest;
}  // namespace smalti::schedule

namespace smalti::cpu {

/// A value that is materialised.
struct NestValue {
  std::string op;  ///< that makes it: "math.exp"
  DType dtype = DType::f32;
  Shape shape;
  bool reusesBuffer = false;  ///< it takes the buffer of a value that is read for the last time
};

struct NestSummary {
  int segment = 0;  ///< of the body: nests that are planned together; 0: a single value, where an op asks for it
  Shape rows{};     ///< of its loops; none: one dense row
  int64_t columns = 1;
  std::vector<std::string> ops{};   ///< fused, in program order: "arith.mulf"
  int phases = 1;                   ///< of a row: a row's reduction ends one
  int64_t rowBlock = 1;             ///< rows that take each phase together
  bool pipelinesLastPhase = false;  ///< the last phase runs during the next row's first ones
  int64_t prefetchRows = 0;         ///< rows that are prefetched before they are read; 0: none
  int prefetchLevel = 0;            ///< of the caches
  int64_t bufferedValues = 0;       ///< values of which rows are kept from phase to phase
  std::vector<NestValue> values{};  ///< that are in memory when the nest is done
  int64_t stores = 0, reductions = 0;
};

NestSummary summarise(const schedule::Segment&, const schedule::Nest&);

}  // namespace smalti::cpu
