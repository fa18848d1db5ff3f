// Fusion: groups of the plain ops of a program become kernels, which a target compiles to native code.
#pragma once

#include "lang/trace/Trace.h"

namespace smalti::lang {

/// The program with its groups as kernels, in the bodies of its loops and branches too.
TracedFunction fused(const TracedFunction&);

}  // namespace smalti::lang
