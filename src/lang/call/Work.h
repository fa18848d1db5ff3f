// What uses MLIR or LLVM in a call of the language.
#pragma once

#include <mutex>

#include "base/process/ForkGate.h"
#include "ir/Lifetime.h"
#include "smalti/error.h"

namespace smalti::lang {

/// Raises SM9015 while the program or the thread ends.
inline void requireAlive() {
  if (!isAlive()) raise(checkAlive().error());
}

/// UnforkedWork that raises SM9015 while the program or the thread ends. The check follows the entry, so that the end
/// of the program either refuses this work or waits for it.
struct Work {
  Work() { requireAlive(); }
  UnforkedWork unforked;
};

/// Such work under a lock.
struct LockedWork {
  explicit LockedWork(std::mutex& mutex) : lock(mutex) {}
  Work work;
  std::lock_guard<std::mutex> lock;
};

}  // namespace smalti::lang
