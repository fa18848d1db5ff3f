// A traced kernel or program as text, in the form of a jaxpr.
#pragma once

#include <string>
#include <string_view>

#include "lang/call/TracedKernel.h"

namespace smalti::lang {

/// { lambda ; a:Ref{float32[8,128]} b:Ref{float32[8,128]}. let c:f32[8,128] <- a[...] … in () }
std::string print(const TracedKernel&);
std::string print(const TracedFunction&);

/// The name that JAX and the language have for an op: "expm1" for StableHLO's "exponential_minus_one".
std::string_view jaxName(std::string_view op);

}  // namespace smalti::lang
