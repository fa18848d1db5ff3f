// Plain ops with a region of elements.
#pragma once

#include "lang/trace/Tracer.h"

namespace smalti::lang {

/// The value of a reduce or scatter outside programs is that of the plain op.
std::vector<Array> computeRegionOp(const OpCall&);

}  // namespace smalti::lang
