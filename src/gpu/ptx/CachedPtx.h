// Caches PTX between processes.
#pragma once

#include "cpu/cache/CompileCache.h"
#include "gpu/ptx/Ptx.h"

namespace smalti::gpu {

/// As compileToPtx, from the cache if present, but then without LLVM IR. `cache` may be null. Kernels that print are
/// not cached, since their launches need more than the report contains.
Result<PtxKernel> cachedPtx(cpu::CompileCache* cache, const KernelPackage&, const Architecture&, eval::Poison,
                            bool checkBlocks);

/// A kernel's launch as the text of a cache entry's report, and back; nullopt: the text is not such a report.
std::string launchReport(const DeviceKernel&);
std::optional<DeviceKernel> readLaunchReport(const std::string&);

}  // namespace smalti::gpu
