// vmap of a pallas_call.
#pragma once

#include "lang/trace/Tracer.h"

namespace smalti::lang {

/// The results of all examples, along axis 0.
std::vector<Array> batchKernel(const OpCall&, const Mask& isBatched, int64_t size);

}  // namespace smalti::lang
