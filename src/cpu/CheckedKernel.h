// Native code that checks itself: bounds, and what is read before it is written.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cpu/NativeKernel.h"

namespace smalti::cpu {

class CheckedKernel {
 public:
  CheckedKernel(std::shared_ptr<const NativeKernel> kernel, size_t shadowResults, std::vector<std::string> shadowed)
      : kernel_(std::move(kernel)), shadowResults_(shadowResults), shadowed_(std::move(shadowed)) {}

  const NativeKernel& kernel() const { return *kernel_; }
  /// What has a shadow when it runs ("scratch 0"); everything else is proved defined when the kernel is compiled.
  const std::vector<std::string>& shadowed() const { return shadowed_; }
  /// The results, when nothing is found. nullopt: something may be wrong; the machine says what it is, or that it is
  /// nothing. Arguments as NativeKernel::call's.
  Result<std::optional<std::vector<Array>>> call(std::span<const Array> operands, const CallOptions&,
                                                 std::vector<std::string>* log = nullptr) const;
  Result<std::optional<std::vector<Array>>> call(std::span<const Array> operands, int threads) const {
    return call(operands, CallOptions{.threads = threads});
  }

 private:
  std::shared_ptr<const NativeKernel> kernel_;
  size_t shadowResults_;
  std::vector<std::string> shadowed_;
};

struct CheckedOutcome {
  std::shared_ptr<const CheckedKernel> kernel;  ///< null exactly when `reason` says why
  std::string reason;
};
Result<CheckedOutcome> compileChecked(const KernelPackage&, const NativeOptions&);

}  // namespace smalti::cpu
