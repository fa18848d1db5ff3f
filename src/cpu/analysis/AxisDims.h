// Maps each dimension of a kernel's values to the grid axis whose block size determines it.
#pragma once

#include <optional>
#include <vector>

#include "cpu/analysis/BoxAccess.h"
#include "ir/KernelPackage.h"
#include "llvm/ADT/DenseMap.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti {
class KernelArguments;
}

namespace smalti::cpu {

/// The axis and index of a condition of the form `program_id(axis) == index`; nullopt for any other.
struct GridIndexEquals {
  int axis = 0;
  int64_t index = 0;
};
std::optional<GridIndexEquals> gridIndexCondition(mlir::func::FuncOp kernel, int rank, mlir::Value condition);

class AxisDims {
 public:
  /// nullopt: the effect of some op on shapes is not known. Dimensions that a reduction keeps may also follow an axis,
  /// since resized blocks do not change what is computed for a row, except for the order in which its elements are
  /// combined.
  static std::optional<AxisDims> of(const KernelPackage&);
  /// The same for kernels whose blocks are divided into parts (SplitAxis.h): they may compute with indices of the grid,
  /// and number the elements of a block.
  static std::optional<AxisDims> ofParts(const KernelPackage&);
  /// Of a kernel without a grid: one axis is assumed, along dimension `d` of the first output, and every other
  /// dimension of a ref follows it if the kernel's ops say so.
  static std::optional<AxisDims> ofOutput(const KernelPackage&, size_t d);

  /// Whether blocks along this axis can be resized without changing what is computed for an element, unless a product
  /// sums over them.
  bool free(int axis) const { return axes_[static_cast<size_t>(axis)].free; }
  /// Whether a product sums over blocks along this axis.
  bool contracted(int axis) const;
  int64_t block(int axis) const { return axes_[static_cast<size_t>(axis)].block; }
  /// The number of array elements along the axis that the grid covers.
  int64_t extent(int axis) const { return axes_[static_cast<size_t>(axis)].extent; }
  int rank() const { return static_cast<int>(axes_.size()); }
  /// The free axis that determines a dimension of a vector or memref, or -1.
  int axisOf(mlir::Value, size_t d) const;
  bool follows(mlir::Value, int axis) const;

 private:
  struct Axis {
    bool free = true;
    int64_t block = 0, extent = 0;
  };
  struct Node {
    int parent = -1;      ///< -1: a root
    int axis = kUnknown;  ///< of a root
  };
  static constexpr int kUnknown = -2, kFixed = -1;

  explicit AxisDims(bool ofParts = false) : ofParts_(ofParts) {}

  void windows(const KernelArguments&, const std::vector<int64_t>& grid);
  bool grid(const KernelPackage&);
  bool body(mlir::func::FuncOp);
  void setSizes(size_t axis, int64_t bound, int64_t block, int64_t size);
  bool op(mlir::Operation&);
  void product(mlir::Operation&);
  void reduction(mlir::Operation&);
  void freeze(int axis) {
    if (axis >= 0) axes_[static_cast<size_t>(axis)].free = false;
  }
  int first(mlir::Value);
  int root(int node) const;
  void setAxis(int node, int axis);
  void same(mlir::Value a, size_t da, mlir::Value b, size_t db);
  void allSame(mlir::Value a, mlir::Value b);
  void fix(mlir::Value);

  bool ofParts_;
  std::vector<Axis> axes_;
  std::vector<Node> nodes_;
  std::vector<int> contracted_;  ///< nodes
  llvm::DenseMap<mlir::Value, int> firstNode_;
};

}  // namespace smalti::cpu
