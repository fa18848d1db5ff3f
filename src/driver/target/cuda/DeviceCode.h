// A kernel's code for GPUs, on a GPU or in this process, with the machine behind it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "driver/target/ReadsOutside.h"
#include "driver/target/Target.h"
#include "gpu/LaunchResult.h"

namespace smalti::driver {

/// The machine runs the calls that it has to explain: those that ended early, and those with findings under checks.
class DeviceCode final : public TargetKernel {
 public:
  /// One call on one device.
  using Call = std::function<Result<gpu::LaunchResult>(const std::vector<Array>& operands, const ExecuteSettings&)>;

  /// `call`: empty where the machine runs the checks. `shadowResults`: how many of the code's last results are shadows
  /// (cpu/check/Instrument.h). `onGpu`: of code that arrays on a GPU may be given to.
  DeviceCode(std::shared_ptr<const machine::CompiledKernel> machine, const Contract& contract, Call call,
             size_t shadowResults, std::shared_ptr<const gpu::CudaKernel> onGpu = nullptr)
      : machine_(std::move(machine)),
        contract_(contract),
        call_(std::move(call)),
        shadowResults_(shadowResults),
        onGpu_(std::move(onGpu)) {}

  Result<machine::KernelResult> run(std::span<const std::vector<Array>> operands, const ExecuteSettings&,
                                    std::span<Array>) const override;
  const gpu::CudaKernel* onGpu() const override { return onGpu_.get(); }

 private:
  Result<machine::KernelResult> runMachine(std::span<const std::vector<Array>> operands, const ExecuteSettings&) const;
  /// Whether a call's results are valid, and the machine need not run it again: checks need its word about reads
  /// outside.
  bool isFinal(cpu::KernelStatus) const;

  std::shared_ptr<const machine::CompiledKernel> machine_;
  Contract contract_;
  mutable ReadsOutside outside_;
  Call call_;
  size_t shadowResults_;
  std::shared_ptr<const gpu::CudaKernel> onGpu_;
};

}  // namespace smalti::driver
