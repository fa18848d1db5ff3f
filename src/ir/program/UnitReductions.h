// Reductions along dimensions of size 1.
#pragma once

#include "ir/program/Program.h"

namespace smalti {

/// Replaces each reduction of one array, along dimensions that all have size 1, by its region's op, if that is one op:
/// of the initial value and the only element. Such ops can run together with their neighbours; `jnp.take` reduces the
/// masks of its index vectors, most of which have one entry.
void expandUnitReductions(Function&);

}  // namespace smalti
