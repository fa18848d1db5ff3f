// The map of a chip's memories that a kernel takes, for people and programs.
#pragma once

#include <string>

#include "driver/cli/Session.h"
#include "ir/KernelPackage.h"
#include "tpu/chip/Chip.h"

namespace smalti::cli {

/// A line for each window, scratch and value that is kept, with a bar; what dominates; what would be saved.
std::string vmemText(const Session&, const KernelPackage&, const tpu::Chip&);
Json vmemJson(const KernelPackage&, const tpu::Chip&);

}  // namespace smalti::cli
