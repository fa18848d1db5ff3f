#include <array>

#include "driver/Target.h"

namespace smalti::driver {
namespace {

class InterpretKernel : public TargetKernel {
 public:
  explicit InterpretKernel(std::shared_ptr<const machine::CompiledKernel> kernel) : kernel_(std::move(kernel)) {}
  Result<machine::KernelResult> run(std::span<const std::vector<Array>> operands,
                                    const RunOptions& options) const override {
    return machine::run(*kernel_, operands, options.machine, options.observers);
  }

 private:
  std::shared_ptr<const machine::CompiledKernel> kernel_;
};

Result<std::shared_ptr<const TargetKernel>> compileInterpret(const KernelPackage& kernel, const RunOptions& options) {
  auto compiled = machine::compileKernel(kernel, options.machine.numerics);
  if (!compiled) return fail(std::move(compiled.error()));
  return std::make_shared<InterpretKernel>(std::move(*compiled));
}

}  // namespace

std::span<const Target> targets() {
  static const std::array kTargets{
      Target{"interpret", "the abstract machine without a clock: op by op, checks everything", compileInterpret},
  };
  return kTargets;
}

const Target* findTarget(std::string_view name) {
  for (const Target& t : targets())
    if (t.name == name) return &t;
  return nullptr;
}

}  // namespace smalti::driver
