// Inlining of calls.
#pragma once

#include <vector>

#include "ir/program/Program.h"

namespace smalti {

/// Ops, also in regions, up to which a function is inlined wherever it is called. `jnp.where`, `clip` and their like
/// have a handful; a layer of a model has hundreds.
inline constexpr int64_t kMostInlinedOps = 64;

/// The functions that main reaches, main first, with the ops of small functions without kernels in place of their
/// calls.
std::vector<Function> withSmallCallsInlined(const Program&);

}  // namespace smalti
