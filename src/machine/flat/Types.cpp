#include "machine/flat/Types.h"

#include "ir/Tpu.h"

namespace smalti::machine::flat {

std::optional<MemoryKind> memorySpaceOf(mlir::MemRefType t) {
  const auto space = tpu::memorySpaceOf(t);
  if (!space) return std::nullopt;
  switch (*space) {
    case tpu::MemorySpace::any:
      return MemoryKind::any;
    case tpu::MemorySpace::vmem:
      return MemoryKind::vmem;
    case tpu::MemorySpace::smem:
      return MemoryKind::smem;
    case tpu::MemorySpace::hbm:
      return MemoryKind::hbm;
    case tpu::MemorySpace::cmem:
      return MemoryKind::cmem;
    case tpu::MemorySpace::semaphore_mem:
      return MemoryKind::semaphore;
    case tpu::MemorySpace::vmem_shared:
      return MemoryKind::vmemShared;
    case tpu::MemorySpace::host:
      return MemoryKind::host;
  }
  return std::nullopt;
}

}  // namespace smalti::machine::flat
