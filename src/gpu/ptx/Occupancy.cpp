#include "gpu/ptx/Occupancy.h"

#include <algorithm>

#include "gpu/device/Primitives.h"

namespace smalti::gpu {
namespace {

// The same for all supported architectures (CUDA C++ Programming Guide, "Technical Specifications per Compute
// Capability" and "Shared Memory"): registers of a multiprocessor, the unit in which a warp gets them, and bytes of
// shared memory that each block takes besides its own.
constexpr int kRegisters = 64 << 10, kRegistersUnit = 256;
constexpr int64_t kReservedBytes = 1024;

}  // namespace

Occupancy occupancyOf(const DeviceKernel& kernel, int registers, const Architecture& architecture) {
  const int warps = (kernel.allThreads() + kWarp - 1) / kWarp;
  const int perWarp =
      std::max((registers * kWarp + kRegistersUnit - 1) / kRegistersUnit * kRegistersUnit, kRegistersUnit);
  const std::pair<int64_t, std::string_view> limits[] = {
      {architecture.warps / warps, "warps"},
      {architecture.blocks, "blocks"},
      {kRegisters / perWarp / warps, "registers"},
      {architecture.sharedOfProcessor / (kernel.sharedBytes + kReservedBytes), "shared memory"}};
  const auto& [blocks, limit] = *std::ranges::min_element(limits, {}, [](const auto& l) { return l.first; });
  return {static_cast<int>(blocks), static_cast<int>(blocks) * warps, limit};
}

}  // namespace smalti::gpu
