// Refusals that several modules and chips have in common.
#pragma once

#include <string>
#include <vector>

#include "driver/compile/Judge.h"

namespace smalti::driver {

/// A refusal, and who has it: at the same line, for the same reason, in the same words but for the chip's name.
struct SharedRefusal {
  const Diagnostic* diagnostic;  ///< of the verdicts
  struct Module {
    std::string path;
    std::vector<std::string> chips;
  };
  std::vector<Module> modules;

  /// "a.mlir, for v4, v5e; the same of b.mlir, c.mlir; the same of d.mlir, for v4".
  std::string who() const;
};

/// In the order of the modules, then of the chips.
std::vector<SharedRefusal> sharedRefusals(const std::vector<RequestedModule>&, const std::vector<std::string>& chips,
                                          const Verdicts&);

}  // namespace smalti::driver
