// Runs NVIDIA's assembler and disassembler, if they are installed (PyPI: nvidia-cuda-nvcc, nvidia-cuda-nvdisasm).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "smalti/diagnostic.h"

namespace smalti::gpu {

/// Finds "ptxas" or "nvdisasm" in a Python package, in CUDA_HOME or CUDA_PATH, or on the PATH.
std::optional<std::string> findTool(std::string_view name);

/// The report of ptxas about a kernel (ptxas -v).
struct Resources {
  int64_t registers = 0, spillBytes = 0, stackBytes = 0, sharedBytes = 0;
};

struct Assembled {
  std::string cubin;
  Resources resources;
};
/// For a GPU of this architecture, that of the code or a newer one. SM7204: ptxas rejects the code.
Result<Assembled> assemble(const std::string& ptxas, const std::string& ptx, std::string_view architecture);
/// The instructions of a cubin. SM7204: the tool fails.
Result<std::string> disassemble(const std::string& nvdisasm, const std::string& cubin);

/// Reads the report of ptxas.
Resources parseResources(std::string_view report);

}  // namespace smalti::gpu
