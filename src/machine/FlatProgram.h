// A kernel function compiled once to a flat list of instructions over value slots, and run step by step.
#pragma once

#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "eval/Contract.h"
#include "ir/KernelPackage.h"
#include "machine/Core.h"

namespace smalti::machine {

struct CompileOptions {
  /// Products of f32 as a TPU computes them: DEFAULT in 1 bf16 pass, HIGH in 3, HIGHEST in 6. Else all are in f32.
  bool tpuNumerics = false;
};

/// Immutable and shareable between threads. Holds no MLIR.
class FlatProgram;

/// Compiles one function (the kernel's, or an index map's). SM40xx for anything that it cannot run.
Result<std::shared_ptr<const FlatProgram>> compile(mlir::func::FuncOp, const CompileOptions&);

/// Bytes of the largest set of values alive at once.
int64_t valueBytes(const FlatProgram&);

/// An argument of a run: an i32 (grid index) or a ref.
using Argument = std::variant<int32_t, Ref>;

/// One run of a FlatProgram: value slots and a program counter. Re-used from run to run (no allocation).
class Execution {
 public:
  explicit Execution(std::shared_ptr<const FlatProgram>);
  ~Execution();
  Execution(Execution&&) noexcept;

  /// Restarts with these arguments; values of the last run are discarded.
  void start(std::span<const Argument>);
  /// Runs until the end, until `maxInstructions` are done, or until a wait blocks (then the same
  /// instruction is tried again by the next call). Diagnostics carry the place; the caller adds kernel and step.
  Result<RunState> run(Core&, int64_t maxInstructions);
  /// Scalars that the function returned, after `finished` (index maps).
  std::span<const int32_t> results() const;
  /// True when a returned scalar depends on undefined memory.
  bool resultsUndefined() const;
  /// Its current position, for deadlock reports.
  SourcePlace place() const;
  /// Instructions done so far, over all runs since it was made.
  int64_t instructions() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace smalti::machine
