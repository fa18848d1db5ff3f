// Whether two pieces of code compute the same value, judged by their form.
#pragma once

#include "cpu/emit/View.h"

namespace smalti::gpu {

/// True only of equal values.
bool sameValue(cpu::Reg, cpu::Reg);
/// The same elements of memory, in the same order.
bool sameBox(const cpu::View&, const cpu::View&);

}  // namespace smalti::gpu
