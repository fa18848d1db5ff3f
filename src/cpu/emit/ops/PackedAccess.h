// Loads and stores through refs that access memory as elements of another width.
#pragma once

#include "cpu/emit/NativeLowering.h"
#include "cpu/emit/PackedView.h"

namespace smalti::cpu {

/// Copies element by element; the shapes are equal, and so are the widths of the elements.
void copyPacked(NativeLowering&, const PackedView& from, const PackedView& to);
/// Does the same as copyPacked, but only where `mask` (i1, of the same shape) is true.
void copyPackedWhere(NativeLowering&, const PackedView& from, const PackedView& to, const View& mask);
/// Copies the elements to dense memory.
View gatherPacked(NativeLowering&, const PackedView&);

}  // namespace smalti::cpu
