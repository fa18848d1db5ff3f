// The end of the process and of its threads, as seen by functions that are called from destructors.
#pragma once

#include "smalti/diagnostic.h"

namespace smalti {

/// SM9015 once the process ends, or the thread has begun to destroy what Smalti keeps for it. Cheap.
Status checkNotEnding();
/// The same as a fact.
bool isEnding();

/// For ir/Lifetime.cpp. Of this thread, from the destructor of a thread_local object:
void setThreadEnding();
/// Refuses calls from now on, and waits for work of other threads that have begun it (UnforkedWork), since the data of
/// libraries goes next; not longer than some seconds.
void endProcess();

}  // namespace smalti
