// The measured times of one call of a MeasuredKernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "smalti/diagnostic.h"

namespace smalti::cpu {

/// A separately timed part of the code: an op, or the ops of one loop nest.
struct MeasuredPart {
  std::vector<SourcePlace> places;  ///< its source lines; empty: grid steps, index maps and scalars
  std::vector<std::string> ops;     ///< "math.exp"
  int64_t times = 0;                ///< number of executions
  double ns = 0;                    ///< summed over all threads
};

struct MeasuredStep {
  int thread = 0;
  int64_t step = 0;             ///< number of the grid step of the native code, row-major
  double fromNs = 0, toNs = 0;  ///< since the beginning of the call
};

struct Measurement {
  std::vector<int64_t> grid;  ///< grid of the native code; -1: the bound is an operand
  int threads = 0;
  int64_t steps = 0;  ///< summed over all threads
  double ns = 0;      ///< duration of the call
  std::vector<MeasuredPart> parts;
  std::vector<MeasuredStep> firstSteps;  ///< the first steps of each thread, at most `kMaxMeasuredSteps`
};
inline constexpr size_t kMaxMeasuredSteps = 2000;

}  // namespace smalti::cpu
