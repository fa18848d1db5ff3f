// A kernel as native code: the whole call is one function.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cpu/Options.h"
#include "cpu/Report.h"
#include "cpu/Unsupported.h"
#include "cpu/runtime/SpreadDevices.h"
#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// Compiled once, run many times, from several threads.
class NativeKernel {
 public:
  virtual ~NativeKernel() = default;
  virtual const NativeReport& report() const = 0;
  /// One call; operands in the custom call's order and of its types. `into`: empty, or one Array for each result, of
  /// its type, which the code writes to where it begins at a multiple of 64 bytes and its memory holds the kernel's own
  /// dtype; the other results are elsewhere. `fault` is set when the code met an access out of bounds or the like, or
  /// a limit, and stopped. The operands are untouched then, and running the kernel on the machine says what is wrong.
  /// SM9002 at the limit of memory. `log` (may be null) gets the debug prints, as machine::KernelResult has them.
  virtual Result<std::vector<Array>> call(std::span<const Array> operands, std::span<Array> into, const CallOptions&,
                                          bool& fault, std::vector<std::string>* log = nullptr) const = 0;
  /// The same on several devices, which copy to and signal each other, each on a thread of its own; operands, results
  /// and prints of each. `fault` also after a deadlock. Of kernels compiled for `devices`. `spread` (may be
  /// null): there are more of them in other processes, and `fault` is set in all when it is in one.
  virtual Result<std::vector<std::vector<Array>>> callTogether(std::span<const std::vector<Array>> operands,
                                                               const CallOptions&, bool& fault,
                                                               std::vector<std::vector<std::string>>& logs,
                                                               const Spread* spread = nullptr) const = 0;
  Result<std::vector<Array>> call(std::span<const Array> operands, int threads, bool& fault,
                                  std::vector<std::string>* log = nullptr) const {
    return call(operands, {}, {.threads = threads}, fault, log);
  }
};

struct NativeOutcome {
  std::shared_ptr<const NativeKernel> kernel;  ///< null exactly when `reason` says why
  std::string reason;
};
Result<NativeOutcome> compileNative(const KernelPackage&, const NativeOptions&);

}  // namespace smalti::cpu
