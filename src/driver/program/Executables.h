// A Program's Executables: its compiled forms, for modules and pallas_calls.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/Executable.h"
#include "base/process/ForkGate.h"
#include "driver/program/RunProgram.h"

namespace smalti::driver {

/// Compiles a Program once for equal options, and keeps the code. Thread-safe: one thread compiles, others that want
/// the same wait for it. Errors are not kept.
class Executables {
 public:
  explicit Executables(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
  const Program& program() const { return *program_; }

  Result<std::shared_ptr<const CompiledProgram>> compile(const CompileOptions&);
  /// The executable, with the default options of its executions.
  Result<std::shared_ptr<const Executable::State>> get(const RunSettings&);
  /// While it is held, no other thread reads the modules of the Program's kernels: MLIR keeps orders of ops and the
  /// like up to date in them. (Their context is for many threads at once.)
  LockedUnforkedWork alone() { return LockedUnforkedWork(modules_); }
  /// How many times it was compiled.
  size_t numCompiled() const;

 private:
  struct Compiled {
    CompileOptions options;
    std::shared_ptr<const CompiledProgram> program;
  };
  std::shared_ptr<const CompiledProgram> find(const CompileOptions&) const;

  const std::shared_ptr<const Program> program_;
  mutable std::mutex mutex_;  ///< of `compiled_`
  std::mutex modules_;
  std::vector<Compiled> compiled_;
};

}  // namespace smalti::driver
