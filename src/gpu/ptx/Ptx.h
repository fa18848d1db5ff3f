// A kernel as PTX: what the CUDA driver and ptxas assemble.
#pragma once

#include <string>

#include "eval/Poison.h"
#include "gpu/Architecture.h"
#include "gpu/emit/Kernel.h"

namespace smalti::gpu {

struct PtxKernel {
  DeviceKernel lowered;
  std::string llvm;  ///< the LLVM IR that it was made of, after its passes
  std::string ptx;
};

/// SM7201 of a kernel with something that there is no device code for; SM9001 where LLVM gives up.
Result<PtxKernel> compileToPtx(const KernelPackage&, const Architecture&, eval::Poison, bool checkBlocks);

}  // namespace smalti::gpu
