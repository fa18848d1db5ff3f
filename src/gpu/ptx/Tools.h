// NVIDIA's assembler and disassembler, where they are installed (PyPI: nvidia-cuda-nvcc, nvidia-cuda-nvdisasm).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gpu/Architecture.h"

namespace smalti::gpu {

/// "ptxas", "nvdisasm": in a Python package, in CUDA_HOME or CUDA_PATH, or on the PATH.
std::optional<std::string> findTool(std::string_view name);

/// The report of ptxas about a kernel (ptxas -v).
struct Resources {
  int64_t registers = 0, spillBytes = 0, stackBytes = 0, sharedBytes = 0;
};

struct Assembled {
  std::string cubin;
  Resources resources;
};
/// SM7204 where ptxas refuses.
Result<Assembled> assemble(const std::string& ptxas, const std::string& ptx, const Architecture&);
/// The instructions of a cubin. SM7204.
Result<std::string> disassemble(const std::string& nvdisasm, const std::string& cubin);

/// Of ptxas' report.
Resources parseResources(std::string_view report);

}  // namespace smalti::gpu
