// Targets: what can run a kernel. One table row each; adding a target is one file and one row (Targets.cpp).
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "ir/Program.h"
#include "machine/Machine.h"

namespace smalti::driver {

struct RunOptions {
  std::string target = "interpret";
  machine::MachineOptions machine;
  int threads = 0;                            ///< of native code; 0: one per core
  std::vector<machine::Observer*> observers;  ///< not owned; see every kernel of the Program
  std::string cache = "off";                  ///< of compiled kernels, as Options::cache; see cpu/cache/CompileCache.h
  int64_t cacheLimitBytes = 0;
};

struct RunOutcome {
  std::vector<Array> results;  ///< global arrays, as main returns them
  std::vector<machine::Finding> findings;
  std::vector<std::string> log;
  machine::RunStatistics statistics;
};

/// A kernel made ready for a target: compiled once, run many times, from several threads.
class TargetKernel {
 public:
  virtual ~TargetKernel() = default;
  /// Runs one call on all devices; `operands[device]` in the custom call's order.
  virtual Result<machine::KernelResult> run(std::span<const std::vector<Array>> operands, const RunOptions&) const = 0;
};
using KernelCompiler =
    std::function<Result<std::shared_ptr<const TargetKernel>>(const KernelPackage&, const RunOptions&)>;

struct Target {
  std::string_view name;
  std::string_view summary;
  KernelCompiler compile;
};
std::span<const Target> targets();
const Target* findTarget(std::string_view name);
/// The kernel ready for the target of the options; SM5006 when there is no such target.
Result<std::shared_ptr<const TargetKernel>> compileKernel(const KernelPackage&, const RunOptions&);

/// A Program whose kernels are compiled for the target of the options; refers to the Program, which must outlive it.
class CompiledProgram;
Result<std::shared_ptr<const CompiledProgram>> compileProgram(const Program&, const RunOptions&);
/// Runs main: plain ops through src/eval, kernels through the target. Codes SM50xx.
Result<RunOutcome> run(const CompiledProgram&, std::span<const Array> arguments, const RunOptions&);
/// Both at once.
Result<RunOutcome> runProgram(const Program&, std::span<const Array> arguments, const RunOptions&);

}  // namespace smalti::driver
