// How long a kernel takes on a chip: a model of the TensorCore's pipeline, units and copies with a clock. Values are
// computed only where control flow, addresses or the sizes of copies depend on them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/KernelPackage.h"
#include "sim/Clock.h"
#include "tpu/chip/Chip.h"

namespace smalti::sim {

/// Whether to take a branch whose condition depends on missing data.
enum class Assume : uint8_t { nothing, always, never };

/// Substitutes for data that are not given and that the kernel does not read from its operands.
struct Assumptions {
  Assumptions(Assume of = Assume::nothing) : branches(of) {}
  Assume branches;
  struct Number {
    std::string place;  ///< of the op whose result it is: "kernels.py:23", "kernels.py:23:8"
    int64_t value = 0;
    bool isOf(const SourcePlace&) const;
  };
  std::vector<Number> numbers;
  std::optional<int64_t> at(const SourcePlace&) const;
};

struct Question {
  /// In the order of the custom call's operands; nullopt: not known.
  std::vector<std::optional<Array>> operands;
  Assumptions assume;
  /// The name of each operand in messages, "input 2 of the module, i32[8]", and the help. May be empty.
  struct Source {
    std::string what, help;
  };
  std::vector<Source> sources;
  bool record = false;           ///< the activity of the core and its copies
  double timeLimitSeconds = 60;  ///< of the model's own work
};

/// The work of the ops of one source line on the units, over the whole run of a core.
struct LineTime {
  SourcePlace place;
  Work work;
  Work::Unit unit() const { return work.busiest(); }
  double cycles() const { return work.cycles[unit()]; }
};

/// The bytes of one operand that move between HBM and a core in the whole run of the core.
struct Traffic {
  std::string what;       ///< "input 0"
  double bytes = 0;       ///< moved
  int64_t copies = 0;     ///< that moved them
  double arrayBytes = 0;  ///< of the operand, with the same padding
};

struct KernelTime {
  double cycles = 0;  ///< of the core that takes longest
  int cores = 1;      ///< that share the grid
  int64_t steps = 0;  ///< of the grid, or iterations of loops without one
  Spent spent;
  Work work;
  double hbmBytes = 0;
  int64_t copies = 0;
  std::vector<Traffic> traffic;        ///< the largest first
  std::vector<LineTime> lines;         ///< the costliest first
  std::optional<Recording> recording;  ///< if the question asks for it
};

/// SM6902: a loop or branch depends on data that is not given. SM6903: what the model does not know. SM9012: the kernel
/// does not terminate, or takes longer to model than the question's limit.
Result<KernelTime> timeOf(const KernelPackage&, const tpu::Chip&, const Question&);

}  // namespace smalti::sim
