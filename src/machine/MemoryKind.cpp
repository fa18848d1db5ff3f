#include <array>

#include "machine/Memory.h"

namespace smalti::machine {

std::string_view name(MemoryKind space) {
  constexpr std::array<std::string_view, 8> kNames{"ANY",  "VMEM",      "SMEM",        "HBM",
                                                   "CMEM", "SEMAPHORE", "VMEM_SHARED", "HOST"};
  return kNames[static_cast<size_t>(space)];
}

}  // namespace smalti::machine
