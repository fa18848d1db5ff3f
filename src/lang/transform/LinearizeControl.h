// Reverse mode of ops with regions.
#pragma once

#include "lang/transform/Closed.h"
#include "lang/transform/Linearize.h"

namespace smalti::lang {

std::vector<Array> linearizeIf(Linearizer&, const ClosedCall&, const Mask& isLinear);
std::vector<Array> linearizeFor(Linearizer&, const ClosedCall&, const Mask& isLinear);
std::vector<Array> linearizeWhile(Linearizer&, const ClosedCall&, const Mask& isLinear);
std::vector<Array> linearizeScan(Linearizer&, const ClosedCall&, const Mask& isLinear);
std::vector<Array> linearizeCheckpoint(Linearizer&, const ClosedCall&, const Mask& isLinear);

}  // namespace smalti::lang
