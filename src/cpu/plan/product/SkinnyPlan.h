// How a skinny product is divided: which rows, columns and sums its loops hold in registers and in L1.
#pragma once

#include <cstdint>

#include "cpu/Processor.h"
#include "cpu/ops/SkinnyProducts.h"
#include "cpu/plan/product/GemmShape.h"

namespace smalti::cpu {

/// The number of rows of A from which on multiplying rows of B takes longer than reading them. Fitted with the decode
/// rows of `./do bench cpu` on the processor that docs/performance.md names.
constexpr int64_t kSlowRows = 4;

/// The facts that the division depends on. If the product converts A to f32 (ProductPlan::widensA), `shape` already
/// says f32.
struct SkinnyFacts {
  GemmShape shape;
  int64_t parts = 1;       ///< number of equal parts of B: its blocks, or streams of one block
  bool bf16Pairs = false;  ///< one instruction multiplies two bf16 of successive k
  int64_t rowsOfPart() const { return (shape.transposedB ? shape.n : shape.k) / parts; }
};

/// The rows of a copy of A that has them side by side (cpu/product/RowsAsColumns.h): m rounded up to a power of two.
int64_t paddedRows(const GemmShape&);

/// Dot products of rows of a transposed B with rows of A: registers hold successive values of k.
struct GemvDotPlan {
  int lanes = 1;                   ///< sums in a register
  int64_t width = 1;               ///< values of k in a register
  bool holdsA = false;             ///< A stays in registers throughout
  int64_t rowsOfA = 1;             ///< rows of A that each row of B is multiplied with while it is in registers
  int64_t rowsOfB = 1;             ///< at most this many parts of B are multiplied together
  int64_t consecutiveRowsOfB = 1;  ///< adjacent rows of each of these parts
  int64_t stagedColumns = 0;       ///< columns of C that are staged before they are stored; 0: stored directly
  /// Values of k for which all rows of A stay in L1, and the rows of B that are multiplied with these before the next
  /// values; 0: all.
  int64_t partOfK = 0, rowsOfPart = 0;

  /// The number of independent sums per dot product, when `ofA` rows of A and `ofB` rows of B are multiplied together.
  /// Additions to one sum wait for each other.
  static int64_t chains(int64_t ofA, int64_t ofB);
  bool operator==(const GemvDotPlan&) const = default;
};

/// Dot products in tile registers (AMX): a tile has the same values of k of 16 rows of a transposed B, read in place.
struct DotTilesPlan {
  /// Tile registers for A, of eight; two hold sums, and two hold rows of B.
  static constexpr int64_t kTilesOfA = 4;
  int64_t columns = 1;        ///< paddedRows of A: they are the columns of the other operand's tiles
  bool holdsA = false;        ///< tiles of A stay in registers throughout
  bool prefetchesL1 = false;  ///< the next 16 rows of B are prefetched into L1; else into L2
  bool operator==(const DotTilesPlan&) const = default;
};

/// Sums of rows of B, each multiplied by an element of A: registers hold successive columns.
struct GemvAxpyPlan {
  bool sumsInRegisters = false;    ///< sums stay in registers for all rows of B; else they are added to C in L1
  int64_t rowsOfB = 1;             ///< at most this many parts of B are added together
  int64_t consecutiveRowsOfB = 1;  ///< adjacent rows of each of these parts, or adjacent pairs of rows
  int64_t passColumns = 0;         ///< columns that one pass of the loop adds
  int64_t cachedColumns = 0;       ///< columns for which all rows of C stay in L1; a multiple of `passColumns`
  bool operator==(const GemvAxpyPlan&) const = default;
};

/// Groups of rows of B stay in L2 while they are added to all tiles of C, which are in registers meanwhile.
struct SkinnyTilesPlan {
  int64_t tileRows = 1, tileColumns = 1;
  int64_t streams = 1;         ///< blocks, or streams, that have rows in a group; divides their number
  int64_t groupRows = 1;       ///< rows of each of them in a group
  int64_t panelColumns = 1;    ///< columns of B for which a group fits L2; n: rows are not cut
  int64_t prefetchedRows = 0;  ///< prefetch distance in each of them, in rows of B
  bool operator==(const SkinnyTilesPlan&) const = default;
};

GemvDotPlan planGemvDot(const SkinnyFacts&, const Processor&);
DotTilesPlan planDotTiles(const SkinnyFacts&, const Processor&);
GemvAxpyPlan planGemvAxpy(const SkinnyFacts&, const Processor&);
SkinnyTilesPlan planSkinnyTiles(const SkinnyFacts&, const Processor&);

}  // namespace smalti::cpu
