// Emits one nest of a segment according to its plan.
#pragma once

#include "cpu/emit/Lowering.h"

namespace smalti::cpu {

LowerResult emitNest(Lowering&, const Segment&, const Nest&);

}  // namespace smalti::cpu
