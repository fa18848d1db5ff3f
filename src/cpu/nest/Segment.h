// Vector ops waiting to be emitted, and how they are put together to loop nests.
#pragma once

#include <optional>

#include "cpu/emit/Lowering.h"

namespace smalti::cpu {

/// One collected op. Loads and stores carry the box of memory they touch, checked when they were collected.
struct PendingOp {
  mlir::Operation* op = nullptr;
  std::optional<View> box;
  /// Stores.
  mlir::Value stored, mask;
  bool adds = false;
  bool isStore() const { return stored != nullptr; }
  bool isLoad() const { return box && !stored; }
};

/// Ops that cost nothing to evaluate again wherever they are used: loads, broadcasts, iota, unit reshapes.
bool isRematerializable(const PendingOp&);
/// Ops that loop nests can contain (loads and stores aside, which come with their box).
bool isCollected(mlir::Operation&);
/// A reduction that nests can contain; its kind.
bool isNativeReduction(mlir::Operation&);

/// The same memory, seen through the same box.
bool sameBox(const View&, const View&);
inline bool mayOverlap(const View& a, const View& b) { return a.memory == b.memory && a.memory != View::kValue; }

/// A loop nest over `rows` whose body runs over columns in phases: what needs a row's reduction comes in a later phase.
struct Nest {
  Shape rows;
  std::vector<size_t> ops;                ///< into the list of pending ops, in program order; free ones are not listed
  llvm::DenseSet<mlir::Value> rowValued;  ///< results with one element per row, reductions first
};

struct Segment {
  std::vector<PendingOp> ops;
  llvm::DenseMap<mlir::Value, size_t> opOf;  ///< result → index
  llvm::DenseSet<mlir::Value> materialised;  ///< results that need a place in memory
  std::vector<Nest> nests;
};

/// Partitions the ops into nests, in program order. `toMaterialise`: loads that must be given a place.
Segment planSegment(std::vector<PendingOp> ops, const llvm::DenseSet<mlir::Operation*>& toMaterialise);
/// Emits one nest of a segment.
LowerResult emitNest(Lowering&, const Segment&, const Nest&);

}  // namespace smalti::cpu
