// The columns of a row that one iteration of a nest's innermost loop processes, and their elements in memory.
#pragma once

#include "cpu/emit/NativeLowering.h"

namespace smalti::cpu {

/// Columns [start, start + lanes) of a row; only those in `mask`, if there is one.
struct Chunk {
  Reg start = nullptr;
  int lanes = 1;
  Reg mask = nullptr;
};

/// The place of a chunk's elements in memory.
struct Elements {
  View view;
  Reg first = nullptr;   ///< address of the first lane's
  Reg stride = nullptr;  ///< elements from lane to lane; null: one element for all
};

/// A register with the chunk's lanes, or a scalar if all lanes use one element.
Reg loadChunk(Builder&, const Elements&, const Chunk&);
/// Writes only lanes that `mask` selects; a scalar mask applies to all.
void storeChunk(NativeLowering&, const Elements&, Reg value, const Chunk&, Reg mask);

}  // namespace smalti::cpu
