// The index arithmetic of the op "roll".
#pragma once

#include "lang/trace/Tracer.h"

namespace smalti::lang {

/// Whether rows are rolled by different amounts.
bool isStrided(const OpCall& roll);
/// The index along `axis` from which each element of a result of this shape comes, i32. The shape may have more leading
/// axes than the op's: `axis` is its "dimension" there.
Array rollSources(const OpCall& roll, const Shape& shape, int64_t axis, const Array& shift);

}  // namespace smalti::lang
