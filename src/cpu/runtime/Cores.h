// The cores that threads may run on.
#pragma once

#include <pthread.h>

namespace smalti::cpu {

/// The core of this thread, -1 where the system does not tell.
int ownCore();
/// Lets a thread run on every core that the process had when it started but this one (-1: on all of them), if there is
/// another. A thread inherits the cores of the one that makes it: pool threads made by one that the user has pinned
/// would all sit on its core.
void excludeCore(pthread_t, int core);
/// For a thread of the pool, which keeps away from a core that its caller may well use: `availableCores` gives so many
/// there, as on the caller. What is compiled for all cores may be compiled on any thread.
void grantCores(int cores);

}  // namespace smalti::cpu
