// Lowers a traced kernel to the module that a TPU runs.
#pragma once

#include "lang/call/TracedKernel.h"

namespace smalti::lang {

/// The Mosaic module with its signature, as JAX's TPU lowering makes it. Errors SM64xx: what a TPU kernel cannot
/// express.
KernelPackage lowerKernel(const TracedKernel&);
/// The metadata of a call as JSON, as Pallas attaches it to the kernel (A14).
std::string metadataJson(const std::map<std::string, std::string>&);

}  // namespace smalti::lang
