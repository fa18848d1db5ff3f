// Memory spaces by name, as JAX prints them.
#pragma once

#include <string_view>

#include "smalti/specs.h"

namespace smalti::lang {

constexpr std::string_view spaceText(MemorySpace s) {
  switch (s) {
    case MemorySpace::any:
      return "any";
    case MemorySpace::hbm:
      return "hbm";
    case MemorySpace::smem:
      return "smem";
    case MemorySpace::semaphore:
      return "semaphore_mem";
    case MemorySpace::host:
      return "host";
    default:
      return "vmem";
  }
}

}  // namespace smalti::lang
