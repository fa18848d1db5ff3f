// Emits the instructions on tile registers (AMX), which are numbered from 0 to 7. They are valid between
// `configureTiles` and `releaseTiles`.
#pragma once

#include <array>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"

namespace smalti::cpu {

struct TileSize {
  int rows = 0;      ///< at most kTileRows
  int rowWords = 0;  ///< of 32 bits, at most kTileLanes
};
using TileSizes = std::array<TileSize, 8>;

void configureTiles(llvm::IRBuilderBase&, const TileSizes&);
void releaseTiles(llvm::IRBuilderBase&);

/// `stride`: bytes from a row in memory to the next, i64.
void loadTile(llvm::IRBuilderBase&, int number, llvm::Value* address, llvm::Value* stride);
void storeTile(llvm::IRBuilderBase&, int number, llvm::Value* address, llvm::Value* stride);
void clearTile(llvm::IRBuilderBase&, int number);
/// c += a · b with an instruction such as `llvm::Intrinsic::x86_tdpbf16ps`.
void multiplyTiles(llvm::IRBuilderBase&, llvm::Intrinsic::ID, int c, int a, int b);

}  // namespace smalti::cpu
