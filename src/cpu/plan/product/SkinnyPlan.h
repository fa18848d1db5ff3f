// How a skinny product is divided: which rows, columns and sums its loops hold in registers and in L1.
#pragma once

#include <cstdint>

#include "cpu/Processor.h"
#include "cpu/ops/SkinnyProducts.h"
#include "cpu/plan/product/GemmShape.h"

namespace smalti::cpu {

/// The number of rows of A from which on multiplying rows of B takes longer than reading them.
constexpr int64_t kSlowRows = 4;

/// What the division depends on. A is f32 already if the product converts it (ProductPlan::widensA).
struct SkinnyFacts {
  GemmShape shape;
  int64_t parts = 1;        ///< of B, of equal size: blocks, or streams of one block
  bool bf16Pairs = false;   ///< one instruction multiplies two bf16 of successive k
  bool rowsFollow = false;  ///< B's rows are known to follow each other without gaps
  int64_t rowsOfPart() const { return (shape.transposedB ? shape.n : shape.k) / parts; }
};

/// Dot products of rows of a transposed B with rows of A: registers hold successive values of k.
struct GemvDotPlan {
  int lanes = 1;                   ///< of a register of sums
  int64_t width = 1;               ///< values of k in a register
  bool holdsA = false;             ///< A stays in registers throughout
  int64_t rowsOfA = 1;             ///< multiplied with each row of B while that is in registers
  int64_t rowsOfB = 1;             ///< multiplied concurrently, of several parts, and consecutiveRowsOfB in each
  int64_t consecutiveRowsOfB = 1;  ///< of these, rows that follow each other in a part
  int64_t stagedColumns = 0;       ///< columns of C that are collected before they are stored; 0: none are

  /// Independent sums of each dot product, for so many rows of A and of B: additions of one sum wait for each other.
  static int64_t chains(int64_t ofA, int64_t ofB);
  bool operator==(const GemvDotPlan&) const = default;
};

/// Sums of rows of B, each multiplied by an element of A: registers hold successive columns.
struct GemvAxpyPlan {
  bool sumsInRegisters = false;  ///< over all rows of B; else each group of rows is added to C in L1
  int64_t rowsOfB = 1;           ///< of different parts, added together
  int64_t passColumns = 0;       ///< added by one pass of the loop over columns
  int64_t cachedColumns = 0;     ///< for which all rows of C stay in L1; a multiple of `passColumns`
  bool operator==(const GemvAxpyPlan&) const = default;
};

/// Groups of rows of B stay in L1 while they are added to all tiles of C, which are in registers meanwhile.
struct SkinnyTilesPlan {
  int64_t tileRows = 1, tileColumns = 1;
  int64_t groupRows = 1;           ///< rows of B in a group
  int64_t panelColumns = 1;        ///< columns of B for which a group fits L1; all: its rows are not cut
  int64_t prefetchedRows = 0;      ///< prefetch distance, in rows of B
  bool prefetchesInOrder = false;  ///< B is one contiguous panel: lines are prefetched in the order of memory
  bool operator==(const SkinnyTilesPlan&) const = default;
};

GemvDotPlan planGemvDot(const SkinnyFacts&, const Processor&);
GemvAxpyPlan planGemvAxpy(const SkinnyFacts&, const Processor&);
SkinnyTilesPlan planSkinnyTiles(const SkinnyFacts&, const Processor&);

}  // namespace smalti::cpu
