// Columns of a row that one pass of a nest's innermost loop works on, and their elements in memory.
#pragma once

#include "cpu/emit/Lowering.h"

namespace smalti::cpu {

/// Columns [start, start + lanes) of a row; those that `mask` says, where there is one.
struct Chunk {
  Reg start = nullptr;
  int lanes = 1;
  Reg mask = nullptr;
};

/// Where a chunk's elements lie.
struct Elements {
  View view;
  Reg first = nullptr;   ///< address of the first lane's
  Reg stride = nullptr;  ///< elements from lane to lane; null: one element for all
};

/// A register of the chunk's lanes, or a scalar where one element serves all.
Reg loadChunk(Builder&, const Elements&, const Chunk&);
/// Lanes that `mask` does not choose are left alone; a scalar mask is one for all.
void storeChunk(Lowering&, const Elements&, Reg value, const Chunk&, Reg mask);

}  // namespace smalti::cpu
