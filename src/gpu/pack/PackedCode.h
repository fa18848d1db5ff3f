// A kernel's code for all GPUs, as folders of calls contain it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cpu/cache/CompileCache.h"
#include "gpu/ptx/Ptx.h"

namespace smalti::gpu {

struct PackedCode {
  std::string architecture;
  PtxKernel kernel;
  std::optional<std::string> cubin;  ///< if ptxas is installed
};

/// Code for sm_80, sm_86 (whose blocks have less shared memory), sm_89 if an operand has 8-bit floats, which sm_86 does
/// not multiply, and sm_90a. `cache` may be null. Errors are those of compileToPtx and assemble.
Result<std::vector<PackedCode>> packCode(const KernelPackage&, cpu::CompileCache* cache, eval::Poison,
                                         bool checkBlocks);

/// Writes kernel.ARCHITECTURE.ptx and kernel.ARCHITECTURE.cubin.
Status writeCode(const std::vector<PackedCode>&, const std::string& folder);

}  // namespace smalti::gpu
