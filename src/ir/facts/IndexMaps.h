// Index maps as data: each coordinate of the block as a sum over the grid indices where it is one, and
// what it depends on.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "ir/KernelPackage.h"

namespace smalti {

/// (constant + the sum of factors[axis] * index of the axis) / divisor, rounded towards zero. An index map computes in
/// i32: before the division it has the sum modulo 2^32, so that the form is only exact if `rangeOn` is known.
struct AffineForm {
  std::vector<int64_t> factors;
  int64_t constant = 0;
  int64_t divisor = 1;

  bool isConstant() const;
  /// The axis whose index it is, unchanged.
  std::optional<size_t> gridIndex() const;
  int64_t at(std::span<const int64_t> step) const;

  struct Range {
    int64_t low = 0, high = 0;
  };
  /// The range of values over a grid; nullopt if an axis that it uses has a dynamic bound, or the sum overflows i32.
  std::optional<Range> rangeOn(std::span<const int64_t> grid) const;
};

/// One coordinate of the block, or of its first element.
struct BlockCoordinate {
  std::optional<AffineForm> form;  ///< nullopt: it is not a sum, or is looked up in scalar prefetch
  std::vector<bool> axes;          ///< by grid axis: what it computes, or where it looks it up, depends on its index
};

/// An index map; the module must live as long.
class IndexMapFacts {
 public:
  IndexMapFacts(mlir::func::FuncOp map, size_t gridRank);

  const std::vector<BlockCoordinate>& coordinates() const { return coordinates_; }
  size_t gridRank() const { return axes_.size(); }

  /// The index of the axis is used, if only to look something up.
  bool uses(size_t axis) const { return axes_[axis].used; }
  /// The index of the axis is used for nothing but to look something up at it.
  bool onlyLooksUp(size_t axis) const { return axes_[axis].onlyLooksUp; }
  /// The index of the axis is a coordinate where it is used at all; nothing is computed from it.
  bool onlyReturns(size_t axis) const { return axes_[axis].onlyReturned; }
  /// Something is looked up in a scalar prefetch operand.
  bool readsMemory() const { return readsMemory_; }
  /// A scalar prefetch operand is used.
  bool usesScalarPrefetch() const { return usesScalarPrefetch_; }
  /// No coordinate depends on the axis, as long as the looked-up memory is not written.
  bool isInvariantIn(size_t axis) const;

  /// Every value of the coordinate over the grid is known to be in [0, count). Least and greatest values and choices
  /// between values are followed as well.
  bool staysIn(size_t coordinate, int64_t count, std::span<const int64_t> grid) const;
  /// The coordinates at a grid step of that grid; nullopt where one of them has no form, or may leave i32.
  std::optional<std::vector<int64_t>> blockAt(std::span<const int64_t> step, std::span<const int64_t> grid) const;

 private:
  struct Axis {
    bool used = false, onlyLooksUp = true, onlyReturned = true;
  };
  std::optional<AffineForm::Range> rangeOf(mlir::Value, std::span<const int64_t> grid) const;

  std::vector<BlockCoordinate> coordinates_;
  std::vector<mlir::Value> results_;  ///< by coordinate
  llvm::DenseMap<mlir::Value, AffineForm> forms_;
  std::vector<Axis> axes_;
  bool readsMemory_ = false, usesScalarPrefetch_ = false;
};

/// For each grid axis, whether the blocks of two grid points whose indices on it differ never overlap, whatever their
/// indices on other axes are. True for axes with one point. `grid` may have kDynamicBound.
std::vector<bool> injectiveAxes(const IndexMapFacts&, const Window&, const std::vector<int64_t>& grid);

/// Whether two index maps compute the same.
bool sameIndexMap(mlir::func::FuncOp a, mlir::func::FuncOp b);

}  // namespace smalti
