// Rematerialisation: recomputes values instead of keeping them in memory.
#pragma once

#include "lang/call/TraceProgram.h"

namespace smalti::lang {

/// Where a group of plain ops takes several arrays from another group, and few would do to compute them again, it
/// computes them again: the derivative of an activation from the activation's argument, not from all that the way
/// forward had in between. No result changes.
///
///   a = f(x); b = g(x); y = h(a, b)            a = f(x); b = g(x); y = h(a, b)
///   z = y @ w                          ->      z = y @ w
///   d = a * b * z                              a2 = f(x); b2 = g(x); d = a2 * b2 * z
TracedFunction recomputed(TracedFunction);

}  // namespace smalti::lang
