// Evaluates the elements of a nest's values for the current row and columns of its loops.
#pragma once

#include "cpu/nest/Chunk.h"
#include "cpu/nest/RowDivision.h"
#include "cpu/nest/RowSlots.h"

namespace smalti::cpu {

/// The current position of a nest's loops, and the values known there.
struct NestPlace {
  int phase = 0;
  llvm::SmallVector<Reg, 4> rows;
  Reg bufferedRow = nullptr;  ///< the row's number among the buffered rows (RowSchedule::bufferedRows)
  Memo row, chunk;
  llvm::SmallVector<std::pair<RowValue, Reg>, 2> reciprocals;  ///< reciprocals that replace divisions of rows
};

class NestValues {
 public:
  /// `buffers`: the memory of the plan's buffers.
  NestValues(NativeLowering&, const Segment&, const NestPlan&, const NestDetails&, const std::vector<View>& buffers);

  /// The elements of a value for a chunk: one register with its lanes, or a scalar if they depend only on the row.
  /// Null, with the reason in `status`, if there is no code for it.
  Reg eval(mlir::Value, const ElementMap&, const Chunk&);
  Elements elements(const View&, const ElementMap&, const Chunk&);
  /// `isPrefetched`: for later rows, the memory is prefetched if this load is contiguous and of the first phase.
  Reg loadFrom(const View&, const ElementMap&, const Chunk&, bool isPrefetched = false);
  /// Keeps a scalar in memory for the row's later phases.
  void keepForLaterPhases(mlir::Value, const ElementMap&, Reg);
  /// Announces that the current phase will keep the value, so that code emitted earlier may refer to it.
  void expectForLaterPhases(mlir::Value v, const ElementMap& map) { slots_.expect(v, map, at.phase); }
  /// Prefetches, for later rows, the memory that the first phase has read along these columns.
  void prefetchRowsAhead(const Chunk&);
  static Reg splatTo(Builder&, Reg, int lanes);

  NestPlace at;
  llvm::BasicBlock* preheader = nullptr;  ///< preheader of the loop over columns, where row values are computed
  NativeResult status;

 private:
  bool perRow(const ElementMap& map) const { return !map.usesColumn(plan_.column); }
  Reg position(const MapEntry&, const Chunk&);
  Reg pointer(const View&, const ElementMap&, const Chunk&);
  Reg columnStride(const View&, const ElementMap&);
  bool isKept(mlir::Value) const;
  Reg compute(mlir::Value, const ElementMap&, const Chunk&);
  Reg computeForRow(mlir::Value, const ElementMap&, const Chunk& one);
  Reg byInverse(mlir::Operation&, const ElementMap&, llvm::ArrayRef<Reg> operands, int lanes);
  Reg iota(mlir::Operation&, const ElementMap&, const Chunk&);
  Reg refuse(std::string why);

  NativeLowering& l_;
  Builder& b_;
  const Segment& s_;
  const NestPlan& plan_;
  const NestDetails& details_;
  const std::vector<View>& buffers_;
  RowSlots slots_;
  std::vector<std::pair<View, ElementMap>> firstReads_;
};

}  // namespace smalti::cpu
