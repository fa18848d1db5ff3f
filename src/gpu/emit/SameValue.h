// Whether two values are computed by the same expression.
#pragma once

#include "cpu/emit/View.h"

namespace smalti::gpu {

/// True only if the values are equal.
bool sameValue(cpu::Reg, cpu::Reg);
/// Whether the views have the same elements of memory in the same order.
bool sameBox(const cpu::View&, const cpu::View&);

}  // namespace smalti::gpu
