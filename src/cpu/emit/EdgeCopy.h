// Partial blocks, between the array and a buffer of their own.
#pragma once

#include "cpu/emit/Lowering.h"

namespace smalti::cpu {

/// A block of the buffer's shape that begins at `starts` in the array; the buffer is dense.
struct EdgeBlock {
  const View& array;
  const View& buffer;
  std::span<const Reg> starts;
};

/// What lies in the array, to the buffer; `outside` to the rest of the buffer, unless it is null.
void fetchInside(Lowering&, const EdgeBlock&, Reg outside);
/// What lies in the array, from the buffer.
void storeInside(Lowering&, const EdgeBlock&);

}  // namespace smalti::cpu
