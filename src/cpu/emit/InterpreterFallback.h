// Ops without native code: the machine's interpreter computes each as a function of its own on values in memory.
// They have no side effects except debug prints and random numbers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cpu/runtime/DmaHazardTracker.h"
#include "eval/Bits.h"
#include "smalti/array.h"
#include "smalti/diagnostic.h"

namespace mlir {
class Operation;
}
namespace smalti::machine {
class FlatProgram;
}

namespace smalti::cpu {

struct FallbackOp {
  std::string name;
  std::shared_ptr<const machine::FlatProgram> program;  ///< of refs: operands, then results
  std::vector<ArrayType> arguments;
  SourcePlace place;  ///< of the op in the kernel's source
};

class FallbackOps {
 public:
  /// Adds the op and returns its number. Fails for ops with side effects, and for ops unknown to the machine.
  Result<int> add(mlir::Operation&);
  const std::vector<FallbackOp>& all() const { return ops_; }

 private:
  std::vector<FallbackOp> ops_;
};

/// Name of the run-time function that generated code calls:
/// i32 (ptr context, i32 op, ptr pointers); anything but 0 ends the call with a fault.
inline constexpr const char* kInterpretSymbol = "smalti_cpu_interpret";

/// The state of the run-time function, one per thread of a call.
class FallbackContext {
 public:
  explicit FallbackContext(const FallbackOps&);
  ~FallbackContext();
  int run(int op, void** pointers);
  /// Resets debug prints and the random number generator to the start of a program.
  void restart();
  /// Debug prints since then, one line each, as in machine::KernelResult.
  const std::vector<std::string>& log() const { return effects_.log; }
  DmaHazardTracker hazards;  ///< updated by checked code

  struct Effects {
    std::vector<std::string> log;
    eval::Prng prng;
  };

 private:
  struct Runner;
  Effects effects_;
  const FallbackOps& ops_;
  std::vector<std::unique_ptr<Runner>> runners_;
};

}  // namespace smalti::cpu
