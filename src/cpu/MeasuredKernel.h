// A kernel as native code that measures how long its parts take. Other kernels contain no trace of this.
#pragma once

#include "cpu/Measurement.h"
#include "cpu/NativeKernel.h"

namespace smalti::cpu {

class MeasuredKernel : public NativeKernel {
 public:
  /// Does the same as `call`, and measures the time.
  virtual Result<std::vector<Array>> measure(std::span<const Array> operands, const CallOptions&, bool& fault,
                                             std::vector<std::string>* log, Measurement&) const = 0;
};

/// Compiles like compileNative, but with time stamps in the code; never cached.
Result<Compiled<MeasuredKernel>> compileMeasured(const KernelPackage&, const NativeOptions&);

}  // namespace smalti::cpu
