// What a call of native code took that was compiled to be measured (MeasuredKernel.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "smalti/diagnostic.h"

namespace smalti::cpu {

/// A part of the code with a time of its own: an op, or ops that are computed in one loop nest.
struct MeasuredPart {
  std::vector<SourcePlace> places;  ///< its source lines; none: grid steps, index maps and scalars
  std::vector<std::string> ops;     ///< "math.exp"
  int64_t times = 0;                ///< how often it ran
  double ns = 0;                    ///< of all threads together
};

struct MeasuredStep {
  int thread = 0;
  int64_t step = 0;             ///< of the grid that native code runs, row-major
  double fromNs = 0, toNs = 0;  ///< from the call's begin
};

struct Measurement {
  std::vector<int64_t> grid;  ///< that native code runs; -1: the bound is an operand
  int threads = 0;
  int64_t steps = 0;  ///< of all threads
  double ns = 0;      ///< from the call's begin to its end
  std::vector<MeasuredPart> parts;
  std::vector<MeasuredStep> firstSteps;  ///< of each thread, so many as `kMostMeasuredSteps`
};
inline constexpr size_t kMostMeasuredSteps = 2000;

}  // namespace smalti::cpu
