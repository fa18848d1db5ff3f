// Programs, compiled for a target and run: what modules and pallas_calls become.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/Options.h"
#include "driver/target/Target.h"
#include "ir/program/Program.h"

namespace smalti::driver {

struct RunOutcome {
  std::vector<Array> results;  ///< global arrays, as main returns them
  std::vector<machine::Finding> findings;
  std::vector<std::string> log;
  machine::RunStatistics statistics;
  int process = 0;  ///< of those that ran it together, each with its part of log, findings and statistics
};

/// A Program whose kernels are compiled for the target of the options; several at once where cores are free. Of several
/// errors, that of the first kernel in the program's order. SM5006 to SM5008, and what the target refuses. Checks that
/// the target lacks move the kernel to the machine. No other thread may use the kernels' modules meanwhile.
class CompiledProgram;
Result<std::shared_ptr<const CompiledProgram>> compileProgram(std::shared_ptr<const Program>, const CompileOptions&);
/// Runs main: plain ops through src/eval, kernels through the target. Codes SM50xx. `into`: as TargetKernel::run has
/// it.
Result<RunOutcome> run(const CompiledProgram&, std::vector<Array> arguments, const ExecuteSettings&,
                       std::span<Array> into = {});

/// The user's options, split into both.
struct RunSettings {
  CompileOptions compile;
  ExecuteSettings execute;
};
/// Both at once; the Program need not outlive the call.
Result<RunOutcome> runProgram(const Program&, std::span<const Array> arguments, const RunSettings&);

}  // namespace smalti::driver
