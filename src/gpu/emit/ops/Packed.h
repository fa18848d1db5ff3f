// Accesses through refs to memory as elements of another width.
#pragma once

#include "gpu/emit/GpuLowering.h"

namespace smalti::gpu {

/// The elements of the view as a dense value in memory.
View gatherPacked(GpuLowering&, const cpu::PackedView&);
/// Stores the bits that `bits` returns for each element (null after a refusal: nothing), except those for which
/// `condition` returns a false i1. `reads`: memories that the two read.
void scatterPacked(GpuLowering&, const cpu::PackedView& to, const MemorySet& reads,
                   const std::function<Reg(const ElementIndex&)>& bits,
                   const std::function<Reg(const ElementIndex&)>& condition = nullptr);
/// Copies element by element; the shapes are equal, and so are the widths. The two do not overlap.
void copyPacked(GpuLowering&, const cpu::PackedView& from, const cpu::PackedView& to);

}  // namespace smalti::gpu
