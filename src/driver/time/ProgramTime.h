// How long a module takes on a chip: its kernels, and the plain ops around them as XLA would fuse them.
#pragma once

#include <optional>
#include <vector>

#include "ir/program/Program.h"
#include "sim/Time.h"
#include "tpu/chip/Chip.h"

namespace smalti::driver {

struct KernelCallTime {
  std::string name;
  double us = 0;
  sim::KernelTime time;
  int kernel = -1;         ///< of Program::kernels
  int64_t calls = 1;       ///< in loops around it; `us` and `time` are of one
  sim::Question question;  ///< the known facts about its operands
};

struct ProgramTime {
  double us = 0, lowUs = 0, highUs = 0;  ///< nine of ten measured times are between them
  double opsUs = 0;                      ///< plain ops around the kernels
  double iciUs = 0;                      ///< collectives among them, between the devices
  int64_t ops = 0;                       ///< fusions of them
  double opBytes = 0;                    ///< that they read and write
  double rooflineUs = 0;  ///< at the published peaks: the kernels' products, or each byte of their operands once
  std::vector<KernelCallTime> kernels;
  std::vector<SourcePlace> loopsCountedOnce;  ///< without kernels: how often they run is not known
};

/// `inputs`: those of the module that are known. `timeLimitSeconds`: for the model of each kernel. SM6902, SM6903,
/// SM9012.
Result<ProgramTime> timeOf(const Program&, const tpu::Chip&, const std::vector<std::optional<Array>>& inputs,
                           const sim::Assumptions&, double timeLimitSeconds);

}  // namespace smalti::driver
