// What a loop nest makes, where and in which order: decided before any of it is emitted.
#pragma once

#include "cpu/Processor.h"
#include "cpu/nest/ElementMap.h"
#include "cpu/nest/Reduction.h"
#include "cpu/nest/Segment.h"
#include "cpu/plan/NestSummary.h"

namespace smalti::cpu {

/// Something that a nest makes: memory it writes, or a reduction.
struct Root {
  enum class Kind : uint8_t { write, rowReduction, accumulation } kind = Kind::write;
  size_t op = 0;
  mlir::Value value, mask;
  ElementMap map;        ///< of the value
  View target;           ///< write: where; accumulation: the accumulators
  ElementMap targetMap;  ///< which element of the target
  bool adds = false;     ///< write: add to what is there
  int64_t columns = 1;   ///< 1: once per row
  int phase = 0;
  int64_t cost = 1;                       ///< instructions, roughly, to compute an element of the value
  std::vector<Accumulator> accumulators;  ///< while the columns are walked; the second is the rest's
};

/// A row of a value that later phases need, in memory.
struct RowBuffer {
  View view;
  ElementMap map;
  int phase = 0;  ///< that writes it
};

struct NestPlan {
  std::vector<Root> roots;
  std::vector<std::pair<mlir::Value, View>> made;  ///< values that get a place
  llvm::DenseMap<mlir::Value, RowBuffer> rowBuffers;
  int column = 0;          ///< the number of the column loop: rows come before
  bool flattened = false;  ///< one dense row instead of many short ones
  /// So many rows take each phase together, a loop per phase: what a row's reduction gives is not waited for.
  int64_t rowBlock = 1;
  /// The last phase of a row runs in the loop of the phase before it of the next row.
  bool pipelinesLastPhase = false;
  int64_t prefetchRows = 1;  ///< what is in memory is asked for so many rows before it is needed
  CacheLevel prefetchLevel = CacheLevel::first;

  int phases() const;
  /// What later phases need is kept of so many rows at a time.
  int64_t bufferedRows() const { return pipelinesLastPhase ? 2 : rowBlock; }
};

NestPlan planNest(Lowering&, const Segment&, const Nest&);
NestSummary summarise(const NestPlan&, const Segment&, const Nest&);

}  // namespace smalti::cpu
