// Forward mode: a tracer whose values are pairs of a primal and a tangent of the tracer below.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "lang/trace/Tracer.h"

namespace smalti::lang {

using Functional = std::function<std::vector<Array>(std::span<const Array>)>;

/// Results and tangents of the function, under the tracer in force. Tangents have the types of the primals, and
/// integers have none.
Differentiated jvp(const Functional&, std::span<const Array> primals, std::span<const MaybeZero> tangents);

/// The tangent, or zeros of the type.
Array instantiated(const MaybeZero&, const ArrayType&);
/// Flags of the tangents that are not zero.
Mask nonzero(std::span<const MaybeZero>);
/// The results of a function of primals and tangents: results, then the tangents that are flagged, zeros among them.
std::vector<Array> flat(const Differentiated&, const Mask&);
/// And back.
Differentiated unflat(std::vector<Array>, const Mask&);

}  // namespace smalti::lang
