// How long a kernel takes on a chip: a model of the TensorCore's pipeline, units and copies with a clock. Values are
// computed only where control flow, addresses or the sizes of copies depend on them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/KernelPackage.h"
#include "sim/Clock.h"
#include "tpu/Chip.h"

namespace smalti::sim {

/// What a branch does whose condition depends on data that is not there.
enum class Assume : uint8_t { nothing, always, never };

struct Question {
  /// In the order of the custom call's operands; nullopt: not known.
  std::vector<std::optional<Array>> operands;
  Assume assume = Assume::nothing;
  int64_t stepsToRecord = 0;  ///< of the grid, from the first: their copies, waits and bodies become `events`
};

/// Something that a core or its copies are busy with, in cycles from the kernel's start.
struct Event {
  std::string lane;  ///< "body", "waits", "input 0"
  int64_t step = 0;  ///< that it is for
  double from = 0, to = 0;
};

/// What the ops of one source line ask of the units, over the whole run of a core.
struct LineTime {
  SourcePlace place;
  Work work;
  Work::Unit unit() const { return work.busiest(); }
  double cycles() const { return work.cycles[unit()]; }
};

struct KernelTime {
  double cycles = 0;  ///< of the core that takes longest
  int cores = 1;      ///< that share the grid
  int64_t steps = 0;  ///< of the grid, or rounds of loops without one
  Spent spent;
  Work work;
  double hbmBytes = 0;
  int64_t copies = 0;
  std::vector<LineTime> lines;  ///< the costliest first
  std::vector<Event> events;    ///< of the steps that the question asks to record
};

/// SM6902: a loop or branch depends on data that is not given. SM6903: what the model does not know.
Result<KernelTime> timeOf(const KernelPackage&, const tpu::Chip&, const Question&);

}  // namespace smalti::sim
