// The software pipeline of a grid: fetches run a step ahead of the body, write-backs a step behind.
#pragma once

#include "sim/Runner.h"

namespace smalti::sim {

/// Codes of a kernel: its body and the index maps of its windows.
struct KernelCode {
  Code body;
  std::vector<std::optional<Code>> maps;  ///< by block (inputs, then outputs); nullopt: it has no window
};

/// Runs all grid steps of one core. `grid`: its own bounds; `whole`: of the kernel.
Result<KernelTime> runPipeline(const KernelPackage&, const KernelCode&, const tpu::Chip&, const Question&,
                               const std::vector<int64_t>& grid, const std::vector<int64_t>& whole, double hbmShare);

}  // namespace smalti::sim
