// A target: what can run a kernel. One folder here and one row in Registry.cpp make one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/target/RunOptions.h"
#include "ir/KernelPackage.h"
#include "ir/program/Program.h"
#include "machine/Machine.h"

namespace smalti::gpu {
class CudaKernel;
}

namespace smalti::driver {

struct CodeRequest;
struct CodeView;

/// The outcome of compiling a kernel ahead of time.
struct CodeReport {
  std::string notNative;     ///< why the machine runs it instead; then all else is empty
  std::string notCacheable;  ///< why every process generates the code again; empty: the cache can hold it
  int64_t objectBytes = 0;
  bool fromCache = false;
};

/// A kernel made ready for a target: compiled once, run many times, from several threads.
class TargetKernel {
 public:
  virtual ~TargetKernel() = default;
  /// Runs one call on all devices; `operands[device]` in the custom call's order and of its types. `into` is empty or
  /// has one Array for each result of the first device: results may be written there, or to other memory.
  virtual Result<machine::KernelResult> run(std::span<const std::vector<Array>> operands, const ExecuteSettings&,
                                            std::span<Array> into = {}) const = 0;
  /// The code of a target that compiles ahead of time.
  virtual std::optional<CodeReport> code() const { return std::nullopt; }
  /// Code that can be launched with arrays on a GPU; null: there is none, or it checks itself.
  virtual const gpu::CudaKernel* onGpu() const { return nullptr; }
};
using KernelCompiler =
    std::function<Result<std::shared_ptr<const TargetKernel>>(const KernelPackage&, const CompileOptions&)>;

/// A whole Program made ready for a target: plain ops, calls and devices too.
class TargetProgram {
 public:
  virtual ~TargetProgram() = default;
  /// Runs main; the arguments are of its types. Global arrays, as main returns them.
  virtual Result<std::vector<Array>> run(std::span<const Array> arguments, const ExecuteSettings&) const = 0;
};
using ProgramCompiler =
    std::function<Result<std::shared_ptr<const TargetProgram>>(const Program&, const CompileOptions&)>;

struct Target {
  std::string_view name;
  std::string_view summary;
  /// The argument after a colon, as help shows it: "CHIP"; "[PLUGIN]" if it is optional; empty: none.
  std::string_view argument;
  /// Whether it makes this check itself; a kernel with another runs on the machine.
  std::function<bool(const machine::ObserverRow&)> checks;
  Numerics numerics = Numerics::f32;  ///< the meaning of --numerics auto
  bool aheadOfTime = false;           ///< makes code, which takes a while and may be kept in the cache
  bool stepsAsKernels = false;        ///< compiles large products and groups between kernels, too
  /// Why it cannot run here: a sentence as the message ("no CUDA driver found"), and its own help where there is some.
  std::function<Status(std::string_view argument)> available;
  /// The compiler of kernels for an argument ("" without one), which is parsed only here. Empty if it compiles whole
  /// programs.
  std::function<Result<KernelCompiler>(std::string_view argument)> open;
  std::function<Result<ProgramCompiler>(std::string_view argument)> openProgram = {};
  /// Its devices belong to one process at a time, and what drives them is code of others, which may crash: the command
  /// line runs it in a child process.
  bool foreign = false;
  /// Its driver or plugin reserves far more address space than it uses, so that none starts within a limit of that.
  bool reservesAddressSpace = false;
  /// For `show`: texts on the way to its code, which no other target has ("llvm"), and what makes them (Code.h). Both
  /// empty: it has no code to show.
  std::vector<std::string_view> stages = {};
  std::function<Result<CodeView>(const KernelPackage&, const CodeRequest&)> inspect = {};

  bool needsArgument() const { return !argument.empty() && !argument.starts_with('['); }
  /// "sim:CHIP", "cpu", "tpu[:PLUGIN]".
  std::string spelling() const;
};

/// In the order of the rows.
std::vector<const Target*> targets();
/// The target of "name" or "name:argument"; null if there is none of this name.
const Target* findTarget(std::string_view text);
/// Checks that `text` names a target (SM5006), with an argument if and only if it takes one (SM5007).
Status checkTarget(std::string_view text);
/// As checkTarget; SM5008 for a target that is not available here.
Result<const Target*> availableTarget(std::string_view text);
/// The compiler of an available target, with the target's errors for its argument. SM5008: it has no such compiler.
Result<KernelCompiler> openTarget(std::string_view text);
Result<ProgramCompiler> openTargetForPrograms(std::string_view text);

/// Adds a target for as long as this lives, for tests and for programs that bring their own. Before other threads look.
class RegisteredTarget {
 public:
  explicit RegisteredTarget(Target target);
  ~RegisteredTarget();
  RegisteredTarget(const RegisteredTarget&) = delete;
  RegisteredTarget& operator=(const RegisteredTarget&) = delete;

 private:
  Target target_;
};

}  // namespace smalti::driver
