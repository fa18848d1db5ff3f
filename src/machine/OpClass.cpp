#include <array>

#include "machine/Observer.h"

namespace smalti::machine {

std::string_view name(OpClass kind) {
  constexpr std::array<std::string_view, 9> kNames{"control", "scalar", "vector", "cross", "matrix",
                                                   "load",    "store",  "sync",   "debug"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace smalti::machine
