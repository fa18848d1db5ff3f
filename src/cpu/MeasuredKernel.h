// A kernel as native code that notes how long its parts take. Other code has nothing of it.
#pragma once

#include "cpu/Measurement.h"
#include "cpu/NativeKernel.h"

namespace smalti::cpu {

class MeasuredKernel : public NativeKernel {
 public:
  /// As `call`, with what it took.
  virtual Result<std::vector<Array>> measure(std::span<const Array> operands, const CallOptions&, bool& fault,
                                             std::vector<std::string>* log, Measurement&) const = 0;
};

struct MeasuredOutcome {
  std::shared_ptr<const MeasuredKernel> kernel;  ///< null exactly when `reason` says why
  std::string reason;
};
/// As compileNative, with stamps in the code; it is kept in no cache.
Result<MeasuredOutcome> compileMeasured(const KernelPackage&, const NativeOptions&);

}  // namespace smalti::cpu
