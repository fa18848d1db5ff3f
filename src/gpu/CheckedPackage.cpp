#include "gpu/CheckedPackage.h"

namespace smalti::gpu {

tl::expected<cpu::CheckedPackage, cpu::Unsupported> withDeviceChecks(const KernelPackage& package) {
  auto checked = cpu::withChecks(package);
  if (checked && cpu::tracksCopies(checked->package))
    return tl::unexpected<cpu::Unsupported>("copies that are in flight");
  return checked;
}

}  // namespace smalti::gpu
