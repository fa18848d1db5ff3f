// A traced kernel as text, in the form of a jaxpr.
#pragma once

#include <string>

#include "lang/call/TracedKernel.h"

namespace smalti::lang {

/// { lambda ; a:Ref{float32[8,128]} b:Ref{float32[8,128]}. let c:f32[8,128] <- a[...] … in () }
std::string print(const TracedKernel&);

}  // namespace smalti::lang
