// Decisions about a matrix product in tiles (AMX): registers of 16 rows of 64 bytes, which one instruction multiplies.
#pragma once

#include <cstdint>

#include "cpu/Processor.h"
#include "cpu/plan/product/GemmShape.h"

namespace smalti::cpu {

/// Whether code for the processor may use tiles: its features include AMX (hostProcessor() reports it if the system
/// lets this process use it).
bool hasTiles(const Processor&);
Processor withoutTiles(Processor);

/// Whether a product is computed in tiles: bf16 · bf16, f32 · bf16 (each f32 is split into three bf16), or bytes ·
/// bytes.
bool usesTiles(const GemmShape&, const Processor&);

/// Decisions about such a product. Tiles of C are two by two.
struct TileLayout {
  GemmShape shape;
  int group = 2;   ///< values of k in a word of 32 bits
  int planes = 1;  ///< number of bf16 whose sum is an element of A
  int64_t blockRows = 0, blockColumns = 0, blockDepth = 0;
  bool packA = false;        ///< to [plane][rows][values], padded to whole tiles
  bool keepPackedB = false;  ///< all panels of a block are kept for the following blocks of rows
  int64_t strideA = 0, planeBytes = 0;
  int64_t panelBytes = 0;  ///< of a panel of B: [words][columns of two tiles], padded to whole tiles, for a block of k
  int64_t finiteB = 0;  ///< with several planes: offset in a panel of a second copy of B with 0 for NaN and infinity,
                        ///< which later planes multiply; 0 · ∞ would turn infinite products into NaN
  int64_t packedCacheBytes = 0;  ///< of the packed B that later products use
  int64_t offsetA = 0, workspaceBytes = 0;
};
TileLayout layOutTiles(const GemmShape&, const Processor&);

inline constexpr int kTileRows = 16;                      ///< rows of a tile of A, B or C
inline constexpr int kTileLanes = 16;                     ///< words in a row of a tile
inline constexpr int64_t kTileBf16 = 2 * kTileLanes;      ///< bf16 in a row of a tile
inline constexpr int kPanelColumns = 2 * kTileLanes;      ///< columns of a panel of B and C
inline constexpr int kPanelRowBytes = 4 * kPanelColumns;  ///< bytes of a row of a packed panel of B

}  // namespace smalti::cpu
