#include "machine/Memory.h"

namespace smalti::machine {

void Buffer::materialiseShadow() {
  if (!allDefined && static_cast<int64_t>(defined.size()) == type.elements()) return;
  defined.assign(static_cast<size_t>(type.elements()), allDefined ? 1 : 0);
  allDefined = false;
}

}  // namespace smalti::machine
