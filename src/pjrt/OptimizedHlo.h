// The kernels of an optimized program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smalti::pjrt {

/// A kernel (tpu_custom_call) of a compiled program.
struct KernelUse {
  std::string name;         ///< of the instruction
  int64_t vmemBytes = 0;    ///< the scoped allocation: windows, scratch, register spills
  int xlaVmemOperands = 0;  ///< operands and results that XLA keeps in VMEM outside of the kernel's allocation
};

/// Reads a serialized HloModuleProtoWithConfig, the format "hlo_with_config" of PJRT_Executable_OptimizedProgram.
std::vector<KernelUse> kernelsOf(std::string_view hloWithConfig);

}  // namespace smalti::pjrt
