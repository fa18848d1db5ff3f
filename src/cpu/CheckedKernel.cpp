#include "cpu/CheckedKernel.h"

#include "cpu/check/Instrument.h"

namespace smalti::cpu {

Result<std::optional<std::vector<Array>>> CheckedKernel::call(std::span<const Array> operands,
                                                              const CallOptions& options,
                                                              std::vector<std::string>* log) const {
  bool fault = false;
  auto results = kernel_->call(operands, {}, options, fault, log);
  if (!results) return fail(std::move(results.error()));
  if (fault) return std::nullopt;
  if (!removeShadows(*results, shadowResults_)) return std::nullopt;
  return std::move(*results);
}

Result<Compiled<CheckedKernel>> compileChecked(const KernelPackage& package, const NativeOptions& options) {
  auto checked = withChecks(package);
  if (!checked) return Compiled<CheckedKernel>{nullptr, std::move(checked.error())};
  auto native = compileNative(checked->package, options);
  if (!native) return fail(std::move(native.error()));
  if (!native->kernel) return Compiled<CheckedKernel>{nullptr, std::move(native->why)};
  return Compiled<CheckedKernel>{
      std::make_shared<CheckedKernel>(std::move(native->kernel), checked->shadowResults, std::move(checked->shadowed)),
      {}};
}

}  // namespace smalti::cpu
