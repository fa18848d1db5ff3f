// Values that a nest does not compute again: kept in registers (Memo), or in memory, one element per row (RowSlots).
#pragma once

#include "cpu/emit/NativeLowering.h"

namespace smalti::cpu {

/// Computed values, by value and element map.
class Memo {
 public:
  /// Null if the value is not known.
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

/// Values with one element per row that later phases of the row's block read from memory.
class RowSlots {
 public:
  /// `rows`: number of rows in a block.
  RowSlots(NativeLowering& lowering, int64_t rows) : l_(lowering), rows_(rows) {}
  /// Announces a value that phase `phase` will keep, so that `find` may be called before that phase is emitted.
  void expect(mlir::Value, const ElementMap&, int phase);
  /// Stores a scalar in phase `phase`, for row number `row` of the block.
  void keep(mlir::Value, const ElementMap&, Reg value, int phase, Reg row);
  /// Loads a value that an earlier phase has kept; null: there is none.
  Reg find(mlir::Value, const ElementMap&, int phase, Reg row);

 private:
  struct Slots {
    ElementMap map;
    llvm::AllocaInst* memory = nullptr;  ///< one element per row of the block
    int phase = 0;                       ///< the phase that fills it
  };
  Slots& getOrCreateSlots(mlir::Value, const ElementMap&, llvm::Type* element, int phase);

  NativeLowering& l_;
  int64_t rows_;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Slots, 1>> slots_;
};

}  // namespace smalti::cpu
