#include "Interpreter.h"

#include <unistd.h>

namespace smalti::python {

void waitForProcessEnd() {
  while (true) ::pause();
}

}  // namespace smalti::python
