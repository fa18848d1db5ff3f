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
  /// Runs one call; operands in the custom call's order and of its types. `into`: empty, or one Array per result, of
  /// its type. The code writes to an Array that is aligned to 64 bytes and stores the kernel's own dtype; other
  /// results get new memory. `fault` is set if the code stopped at an error, such as an access out of bounds, or at a
  /// limit. Then the operands are unchanged unless `overwritesOperands`, and running the kernel on the machine produces
  /// the diagnostic.
  /// SM9002 at the memory limit. `log` (may be null) receives the debug prints, as in machine::KernelResult.
  virtual Result<std::vector<Array>> call(std::span<const Array> operands, std::span<Array> into, const CallOptions&,
                                          bool& fault, std::vector<std::string>* log = nullptr) const = 0;
  /// Whether such a call writes results over operands: an output in `into` has the memory of an operand, or, without
  /// `into`, nothing else owns an operand that a result is aliased to.
  virtual bool overwritesOperands(std::span<const Array> operands, std::span<const Array> into) const = 0;
  /// The same as `call` for several devices that copy to and signal each other, each on its own thread; operands,
  /// results and prints by device. `fault` is also set after a deadlock. Only for kernels compiled for `devices`.
  /// `spread` (may be null): further devices run in other processes; a fault in one process is a fault in all.
  virtual Result<std::vector<std::vector<Array>>> callOnDevices(std::span<const std::vector<Array>> operands,
                                                                const CallOptions&, bool& fault,
                                                                std::vector<std::vector<std::string>>& logs,
                                                                const ProcessSpread* spread = nullptr) const = 0;
  Result<std::vector<Array>> call(std::span<const Array> operands, int threads, bool& fault,
                                  std::vector<std::string>* log = nullptr) const {
    return call(operands, {}, {.threads = threads}, fault, log);
  }
};

Result<Compiled<NativeKernel>> compileNative(const KernelPackage&, const NativeOptions&);

}  // namespace smalti::cpu
