// Smalti: Pallas in C++. Kernels (pallas_call.h), their ops (ops.h, control.h), transformations of functions
// (transform.h), and imported modules (module.h). Free of MLIR and LLVM; link `smalti::smalti`.
#pragma once

#include "smalti/atomic.h"
#include "smalti/autotune.h"
#include "smalti/buffered_ref.h"
#include "smalti/collectives.h"
#include "smalti/conform.h"
#include "smalti/control.h"
#include "smalti/core_map.h"
#include "smalti/debug.h"
#include "smalti/dma.h"
#include "smalti/executable.h"
#include "smalti/memory.h"
#include "smalti/module.h"
#include "smalti/ops.h"
#include "smalti/pallas_call.h"
#include "smalti/pipeline.h"
#include "smalti/settings.h"
#include "smalti/shard_map.h"
#include "smalti/transform.h"
#include "smalti/unsupported_ops.h"

namespace smalti::detail {
/// Registers the compiler and exporter of kernels. The shared library does so when it is loaded; a program
/// that links Smalti statically calls this, since a linker takes only referenced members from an archive.
bool register_backend();
inline const bool kBackendRegistered = register_backend();
}  // namespace smalti::detail
