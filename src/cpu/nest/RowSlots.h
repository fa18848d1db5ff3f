// Values that a nest need not compute again: in registers (Memo), or in memory, one element per row (RowSlots).
#pragma once

#include "cpu/emit/Lowering.h"

namespace smalti::cpu {

/// Values that have been computed, by what of them is wanted.
class Memo {
 public:
  /// Null when there is none.
  Reg find(mlir::Value, const ElementMap&) const;
  void add(mlir::Value v, const ElementMap& map, Reg r) { known_[v].push_back({map, r}); }
  void clear() { known_.clear(); }

 private:
  struct Known {
    ElementMap map;
    Reg value;
  };
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Known, 1>> known_;
};

/// Values of one element per row that later phases of the row's group find again in memory.
class RowSlots {
 public:
  /// `rows`: of a group.
  RowSlots(Lowering& lowering, int64_t rows) : l_(lowering), rows_(rows) {}
  /// What phase `phase` will keep: it may be looked for before that phase is emitted.
  void expect(mlir::Value, const ElementMap&, int phase);
  /// In phase `phase`, for row number `row` of the group; no vectors.
  void keep(mlir::Value, const ElementMap&, Reg value, int phase, Reg row);
  /// What a phase before `phase` has kept; null: nothing.
  Reg find(mlir::Value, const ElementMap&, int phase, Reg row);

 private:
  struct Slots {
    ElementMap map;
    llvm::AllocaInst* memory = nullptr;  ///< one element per row of the group
    int phase = 0;                       ///< that fills it
  };
  Slots& slotsOf(mlir::Value, const ElementMap&, llvm::Type* element, int phase);

  Lowering& l_;
  int64_t rows_;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Slots, 1>> slots_;
};

}  // namespace smalti::cpu
