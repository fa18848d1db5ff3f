// Native code with checks: bounds, and reads of uninitialised memory.
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
  /// The memories with a shadow at run time ("scratch 0"); all others are proved defined at compile time.
  const std::vector<std::string>& shadowed() const { return shadowed_; }
  /// The results if no check fails. nullopt: there may be a mistake; the machine then finds it, or finds that there is
  /// none. Arguments as for NativeKernel::call.
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

Result<Compiled<CheckedKernel>> compileChecked(const KernelPackage&, const NativeOptions&);

}  // namespace smalti::cpu
