// fork() while other threads work: the child inherits the locks that they hold, and nothing releases them.
#pragma once

#include <mutex>

namespace smalti {

/// Work that takes locks of its own, of LLVM or of MLIR for longer than a moment: loading, tracing, compiling. A fork
/// waits until no other thread is at such work, and none begins meanwhile. Made before any lock is taken that others
/// take in such work. May be nested; what waits for other threads in it must not let them begin some of their own.
class UnforkedWork {
 public:
  UnforkedWork();
  ~UnforkedWork();
  UnforkedWork(const UnforkedWork&) = delete;
  UnforkedWork& operator=(const UnforkedWork&) = delete;
};

/// Such work under a lock.
struct LockedUnforkedWork {
  explicit LockedUnforkedWork(std::mutex& mutex) : lock(mutex) {}
  UnforkedWork work;
  std::lock_guard<std::mutex> lock;
};

}  // namespace smalti
