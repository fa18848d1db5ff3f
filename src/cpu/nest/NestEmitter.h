// Emits one nest of a segment according to its plan.
#pragma once

#include "cpu/emit/NativeLowering.h"

namespace smalti::cpu {

NativeResult emitNest(NativeLowering&, const Segment&, const Nest&, const NestDetails&);

}  // namespace smalti::cpu
