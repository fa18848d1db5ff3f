// Targets: what can run a kernel. One table row each; adding a target is one file and one row (Targets.cpp).
#pragma once

#include <functional>
#include <string_view>

#include "ir/Program.h"
#include "machine/Machine.h"

namespace smalti::driver {

struct RunOptions {
  std::string target = "interpret";
  machine::MachineOptions machine;
};

struct RunOutcome {
  std::vector<Array> results;                ///< global arrays, as main returns them
  std::vector<machine::Finding> findings;
  std::vector<std::string> log;
  machine::RunStatistics statistics;
};

/// Runs one kernel call on all devices. `operands[device]`.
using KernelRunner = std::function<Result<machine::KernelResult>(const KernelPackage&,
                                                                 std::span<const std::vector<Array>>, const RunOptions&)>;
struct Target {
  std::string_view name;
  std::string_view summary;
  KernelRunner run;
};
std::span<const Target> targets();
const Target* findTarget(std::string_view name);

/// Runs main of a Program: plain ops through src/eval, kernels through the target. Codes SM50xx.
Result<RunOutcome> runProgram(const Program&, std::span<const Array> arguments, const RunOptions&);

}  // namespace smalti::driver
