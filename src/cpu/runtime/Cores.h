// The cores that threads may run on.
#pragma once

#include <pthread.h>

namespace smalti::cpu {

/// The core of this thread; -1 if the system does not report it.
int ownCore();
/// Lets a thread run on every core that the process had when it started except this one (-1: on all), if there is
/// another. A thread inherits its creator's cores: pool threads created by a thread that the user has pinned
/// would all run on that core.
void excludeCore(pthread_t, int core);
/// For a thread of the pool, which excludes its caller's core: sets the result of `availableCores` on this thread,
/// which equals the caller's. Code for all cores may thus be compiled on any thread.
void grantCores(int cores);

}  // namespace smalti::cpu
