// The cores that threads may run on.
#pragma once

#include <sched.h>

namespace smalti::cpu {

#ifdef __linux__
using Cores = cpu_set_t;
#else
struct Cores {};
#endif

/// Those of the process when it started. A thread inherits the cores of the thread that makes it: pool threads made by
/// one that the user has pinned to a core would all sit on that core.
const Cores& startCores();
void setOwnCores(const Cores&);
/// The core this thread is on, -1 where nobody tells.
int ownCore();
/// Moves this thread to another of the cores it may run on, if there is one; it may come back.
void leaveCore(int core);

}  // namespace smalti::cpu
