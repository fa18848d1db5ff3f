// The elements of a nest's values in registers: for the row and the columns that its loops are at.
#pragma once

#include "cpu/nest/Chunk.h"
#include "cpu/nest/RowDivision.h"
#include "cpu/nest/RowSlots.h"

namespace smalti::cpu {

/// Where a nest's loops are, and what is known there.
struct NestPlace {
  int phase = 0;
  llvm::SmallVector<Reg, 4> rows;
  Reg bufferedRow = nullptr;  ///< the row's number among those of which rows are kept (RowSchedule::bufferedRows)
  Memo row, chunk;
  llvm::SmallVector<std::pair<RowValue, Reg>, 2> inverses;  ///< what rows are multiplied by, not divided
};

class NestValues {
 public:
  /// `buffers`: where those of the plan are.
  NestValues(Lowering&, const Segment&, const NestPlan&, const std::vector<View>& buffers);

  /// The elements of a value that a chunk needs: one register of its lanes, or a scalar where the row decides. Null,
  /// and `failure` says why, when there is none.
  Reg eval(mlir::Value, const ElementMap&, const Chunk&);
  Elements elements(const View&, const ElementMap&, const Chunk&);
  Reg loadFrom(const View&, const ElementMap&, const Chunk&);
  /// A scalar that is expensive to compute or cannot be computed again.
  void keepForLaterPhases(mlir::Value, const ElementMap&, Reg);
  /// The phase at hand will keep it: what is emitted before that may look for it.
  void expectForLaterPhases(mlir::Value v, const ElementMap& map) { slots_.expect(v, map, at.phase); }
  /// In memory, made by another nest or in an earlier phase.
  bool isMade(mlir::Value v) const { return isKept(v) || l_.findView(v); }
  /// Asks for what the first phase has read from memory along the columns, of rows whose turn comes later.
  void prefetchRowsAhead(const Chunk&);
  static Reg splatTo(Builder&, Reg, int lanes);

  NestPlace at;
  llvm::BasicBlock* preheader = nullptr;  ///< of the loop over columns, which row values are computed before
  LowerResult failure;

 private:
  bool perRow(const ElementMap& map) const { return !map.usesColumn(plan_.column); }
  Reg position(const MapEntry&, const Chunk&);
  Reg pointer(const View&, const ElementMap&, const Chunk&);
  Reg columnStride(const View&, const ElementMap&);
  bool isWorthAsking(const View&) const;
  bool isKept(mlir::Value) const;
  Reg compute(mlir::Value, const ElementMap&, const Chunk&);
  Reg computeForRow(mlir::Value, const ElementMap&, const Chunk& one);
  Reg byInverse(mlir::Operation&, const ElementMap&, llvm::ArrayRef<Reg> operands, int lanes);
  Reg iota(mlir::Operation&, const ElementMap&, const Chunk&);
  Reg refuse(std::string why);

  Lowering& l_;
  Builder& b_;
  const Segment& s_;
  const NestPlan& plan_;
  const std::vector<View>& buffers_;
  RowSlots slots_;
  std::vector<std::pair<View, ElementMap>> firstReads_;
};

}  // namespace smalti::cpu
