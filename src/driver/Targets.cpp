#include <array>

#include "driver/Target.h"

namespace smalti::driver {
namespace {

Result<machine::KernelResult> runInterpret(const KernelPackage& kernel, std::span<const std::vector<Array>> operands,
                                           const RunOptions& options) {
  auto compiled = machine::compileKernel(kernel, options.machine.numerics);
  if (!compiled) return fail(std::move(compiled.error()));
  return machine::run(**compiled, operands, options.machine);
}

}  // namespace

std::span<const Target> targets() {
  static const std::array kTargets{
      Target{"interpret", "the abstract machine without a clock: op by op, checks everything", runInterpret},
  };
  return kTargets;
}

const Target* findTarget(std::string_view name) {
  for (const Target& t : targets())
    if (t.name == name) return &t;
  return nullptr;
}

}  // namespace smalti::driver
