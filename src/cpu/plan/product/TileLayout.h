// Decisions about a matrix product in tiles (AMX): registers of 16 rows of 64 bytes, which one instruction multiplies.
#pragma once

#include <cstdint>

#include "cpu/Processor.h"
#include "cpu/plan/product/GemmShape.h"

namespace smalti::cpu {

/// Whether code for the processor may use them: its features include AMX (hostProcessor() reports it if the system lets
/// this process use it).
bool hasTiles(const Processor&);
Processor withoutTiles(Processor);

/// Whether a product is computed in tiles: of bf16, or of f32 on the left, which is the sum of three bf16, with bf16;
/// or of bytes.
bool usesTiles(const GemmShape&, const Processor&);

/// Decisions about such a product. Tiles of C are two by two.
struct TileLayout {
  GemmShape shape;
  int group = 2;   ///< values of k in a word of 32 bits
  int planes = 1;  ///< bf16 that an element of A is the sum of
  int64_t blockRows = 0, blockColumns = 0, blockDepth = 0;
  bool packA = false;        ///< to [plane][rows][values], which end with whole tiles
  bool keepPackedB = false;  ///< all panels of a block are kept for the following blocks of rows
  int64_t strideA = 0, planeBytes = 0;
  int64_t panelBytes = 0;  ///< of B: [words][columns of two tiles], which end with whole tiles, for a block of k
  int64_t finiteB = 0;     ///< several planes: where in a panel the same follows with 0 for NaN and infinity, as 0 · ∞
                           ///< of the planes after the first would make NaN of an infinite product
  int64_t packedCacheBytes = 0;  ///< of packed B, when later products use it
  int64_t offsetA = 0, workspaceBytes = 0;
};
TileLayout layOutTiles(const GemmShape&, const Processor&);

inline constexpr int kTileRows = 16;                      ///< of all three operands
inline constexpr int kTileLanes = 16;                     ///< words in a row
inline constexpr int kPanelColumns = 2 * kTileLanes;      ///< of B and C
inline constexpr int kPanelRowBytes = 4 * kPanelColumns;  ///< of B

}  // namespace smalti::cpu
