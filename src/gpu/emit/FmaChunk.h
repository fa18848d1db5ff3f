// One chunk of K of a product by fused multiply-adds of f32 in each thread.
#pragma once

#include <array>
#include <vector>

#include "gpu/emit/Staging.h"
#include "gpu/plan/ProductTile.h"

namespace smalti::gpu {

struct FmaChunk {
  ProductTile tile;
  Reg down = nullptr, across = nullptr;  ///< i32: position of the warp among those of the tile
  Reg lane = nullptr;                    ///< i32
  Reg sums = nullptr;                    ///< the thread's sums in memory
  const StagedOperand *lhs = nullptr, *rhs = nullptr;
  Reg left = nullptr, right = nullptr;  ///< addresses of the operands in shared memory; `left` null: in registers
  /// The left operand in registers: of each fragment of 16 rows × 8 along K, the thread's four elements.
  std::vector<std::array<Reg, 4>> leftInRegisters;
};

/// Adds the product of the chunk to the sums.
void emitFmaChunk(GpuLowering&, const FmaChunk&);

}  // namespace smalti::gpu
