// Changes that would make a kernel faster on a chip: candidates that its compiler accepts, each with the time that the
// model predicts.
#pragma once

#include <string>
#include <vector>

#include "ir/KernelPackage.h"
#include "sim/Time.h"
#include "tpu/chip/Chip.h"

namespace smalti::driver {

struct Advice {
  enum class Kind : uint8_t { blocks, order, cores, buffers } kind = Kind::blocks;
  std::string text;  ///< the change: "blocks of (512, 1024) …"
  double share = 1;  ///< of the kernel's time that is left
  double us = 0;     ///< of the kernel with it
  std::vector<int64_t> grid;
  std::vector<Shape> blocks;  ///< by input, then output; empty: it has no window
};

/// The most effective first; only changes that save at least 3 % of the time. `us`: the time of the unchanged kernel.
std::vector<Advice> adviceFor(const KernelPackage&, const tpu::Chip&, const sim::Question&, double us);

}  // namespace smalti::driver
