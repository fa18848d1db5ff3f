// Copies partial blocks between the array and a buffer.
#pragma once

#include "cpu/emit/NativeLowering.h"

namespace smalti::cpu {

/// A block of the buffer's shape that begins at `starts` in the array; the buffer is dense.
struct EdgeBlock {
  const View& array;
  const View& buffer;
  std::span<const Reg> starts;
};

/// Copies the part of the block inside the array to the buffer, and fills the rest with `outside` unless it is null.
void fetchInside(NativeLowering&, const EdgeBlock&, Reg outside);
/// Copies the part of the block inside the array from the buffer.
void storeInside(NativeLowering&, const EdgeBlock&);

}  // namespace smalti::cpu
