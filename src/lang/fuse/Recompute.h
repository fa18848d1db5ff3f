// Rematerialisation: recomputes values instead of keeping them in memory.
#pragma once

#include "lang/call/TraceProgram.h"

namespace smalti::lang {

/// If a group of plain ops takes several arrays from another group, and fewer arrays suffice to recompute them, it
/// recomputes them: the derivative of an activation from the activation's argument, not from the intermediate values of
/// the forward pass. No result changes.
///
///   a = f(x); b = g(x); y = h(a, b)            a = f(x); b = g(x); y = h(a, b)
///   z = y @ w                          ->      z = y @ w
///   d = a * b * z                              a2 = f(x); b2 = g(x); d = a2 * b2 * z
TracedFunction recomputed(TracedFunction);

}  // namespace smalti::lang
