// From a traced kernel to the module a TPU runs.
#pragma once

#include "lang/call/TracedKernel.h"

namespace smalti::lang {

/// The Mosaic module with its signature, as JAX's TPU lowering makes it. Errors SM64xx: what a TPU kernel cannot say.
KernelPackage lowerKernel(const TracedKernel&);

}  // namespace smalti::lang
