// When MLIR may be used: it keeps data per thread and per process, which go when the thread or the process ends.
#pragma once

#include "smalti/diagnostic.h"

namespace smalti {

/// SM9015 in destructors of static and thread_local objects that run when what MLIR keeps is gone, or will be gone at a
/// unknown time; to be called before MLIR is used for a user. Cheap.
Status checkAlive();
/// Whether MLIR may be used: a fast check for short calls.
bool isAlive();

}  // namespace smalti
