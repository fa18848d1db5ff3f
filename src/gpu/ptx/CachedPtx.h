// Caches PTX, and what ptxas makes of it, between processes.
#pragma once

#include <optional>
#include <string>

#include "cpu/cache/CompileCache.h"
#include "gpu/ptx/Ptx.h"

namespace smalti::gpu {

/// Like compileToPtx, but takes the code from the cache if present, then without LLVM IR. `cache` may be null. Kernels
/// that print are not cached, since their launches need more than the report contains.
Result<PtxKernel> cachedPtx(cpu::CompileCache* cache, const KernelPackage&, const Architecture&, eval::Poison,
                            bool checkBlocks);

/// The PTX assembled by ptxas for a GPU of this name ("sm_90a"), from the cache if present. nullopt: ptxas is not
/// installed or fails, for example since it is older than the GPU.
std::optional<std::string> cachedCubin(cpu::CompileCache* cache, const std::string& ptx, const std::string& gpu);

/// Writes a kernel's launch as the report of a cache entry, and reads it; nullopt: the text is not such a report.
std::string launchReport(const DeviceKernel&);
std::optional<DeviceKernel> readLaunchReport(const std::string&);

}  // namespace smalti::gpu
