// Compiles kernels to PTX, which the CUDA driver and ptxas assemble.
#pragma once

#include <string>

#include "eval/Poison.h"
#include "gpu/Architecture.h"
#include "gpu/emit/Kernel.h"

namespace smalti::gpu {

struct PtxKernel {
  DeviceKernel lowered;
  std::string llvm;  ///< the LLVM IR after all passes
  std::string ptx;
};

/// SM7201: part of the kernel has no device code. SM9001: LLVM fails.
Result<PtxKernel> compileToPtx(const KernelPackage&, const Architecture&, eval::Poison, bool checkBlocks);

}  // namespace smalti::gpu
