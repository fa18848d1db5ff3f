// vmap of a pallas_call.
#pragma once

#include "lang/transform/Batch.h"

namespace smalti::lang {

/// The results of all examples, along axis 0: one more grid axis, the first; or a loop over the examples, where what
/// differs by example is a grid size or a scalar-prefetch operand.
std::vector<Array> batchKernel(const OpCall&, const BatchAxes&, int64_t size);

}  // namespace smalti::lang
