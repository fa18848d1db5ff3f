// fork() while other threads work: the child inherits the locks that they hold, and nothing releases them.
#pragma once

#include <chrono>
#include <mutex>

namespace smalti {

/// Work that takes locks of its own, of LLVM or of MLIR for longer than a moment: loading, tracing, compiling. A fork
/// waits until no other thread does such work, and blocks new work meanwhile. Construct it before taking any lock that
/// other threads take in such work. It may be nested; code that waits for other threads in it must not let them begin
/// such work.
class UnforkedWork {
 public:
  UnforkedWork();
  ~UnforkedWork();
  UnforkedWork(const UnforkedWork&) = delete;
  UnforkedWork& operator=(const UnforkedWork&) = delete;
};

/// Waits until no other thread does such work, or the time is over.
void waitForUnforkedWork(std::chrono::milliseconds);

/// Such work under a lock.
struct LockedUnforkedWork {
  explicit LockedUnforkedWork(std::mutex& mutex) : lock(mutex) {}
  UnforkedWork work;
  std::lock_guard<std::mutex> lock;
};

}  // namespace smalti
