#include "machine/flat/Types.h"

#include "ir/Tpu.h"

namespace smalti::machine::flat {

std::optional<MemorySpace> memorySpaceOf(mlir::MemRefType t) {
  const auto space = tpu::memorySpaceOf(t);
  if (!space) return std::nullopt;
  switch (*space) {
    case tpu::MemorySpace::any:
      return MemorySpace::any;
    case tpu::MemorySpace::vmem:
      return MemorySpace::vmem;
    case tpu::MemorySpace::smem:
      return MemorySpace::smem;
    case tpu::MemorySpace::hbm:
      return MemorySpace::hbm;
    case tpu::MemorySpace::cmem:
      return MemorySpace::cmem;
    case tpu::MemorySpace::semaphore_mem:
      return MemorySpace::semaphore;
    case tpu::MemorySpace::vmem_shared:
      return MemorySpace::vmemShared;
    case tpu::MemorySpace::host:
      return MemorySpace::host;
  }
  return std::nullopt;
}

}  // namespace smalti::machine::flat
