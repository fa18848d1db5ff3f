// Operands of test kernels in blocks.
#pragma once

#include "../../machine/runtime/TextKernel.h"

namespace smalti::cpu::testing {

inline machine::testing::Spec part(Shape array, Shape block, std::string map = "%i, %c0") {
  return {.array = std::move(array), .block = std::move(block), .map = std::move(map)};
}

}  // namespace smalti::cpu::testing
