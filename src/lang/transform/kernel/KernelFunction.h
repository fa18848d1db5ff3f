// A pallas_call as a function of arrays: a loop over the grid in plain ops, whose carry is what programs leave behind.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lang/call/TracedKernel.h"

namespace smalti::lang {

/// Why the kernel is not a function of arrays; empty where it is one. The operands say whether a dynamic grid is known.
/// With `wide`: not a function of arrays whose floats are all f64.
std::string whyNoFunction(const TracedKernel&, std::span<const Array> operands, bool wide = false);

/// The results of the call, under the tracer in force. Unwritten memory is zero; the
/// elements of a block beyond the edge of an array have the value at the edge, without a derivative. With `wide` every
/// float is an f64, in the body too.
std::vector<Array> runAsFunction(const TracedKernel&, std::span<const Array> operands, bool wide = false);

/// The results in f64, of which nothing is rounded: the setting `numerics` "f64". Error SM7114 where the kernel is no
/// function of arrays.
std::vector<Array> runWide(const TracedKernel&, std::span<const Array> operands);

}  // namespace smalti::lang
