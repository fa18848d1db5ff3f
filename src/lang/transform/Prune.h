// Removes results of functions, and the ops that only they need.
#pragma once

#include <memory>

#include "lang/trace/Trace.h"

namespace smalti::lang {

/// The same function with some of its results only, and without the ops that the others need.
std::shared_ptr<const TracedFunction> keepResults(const TracedFunction&, const Mask& keep);

}  // namespace smalti::lang
