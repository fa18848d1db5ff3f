// Index maps: whether different grid points have different blocks.
#pragma once

#include <vector>

#include "ir/KernelPackage.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu {

/// By grid axis: whether the blocks of two points whose indices on it differ never overlap, whatever their indices on
/// other axes are. True for axes with one point. `grid` may have kDynamicBound.
std::vector<bool> distinguishes(mlir::func::FuncOp map, const Window& window, const std::vector<int64_t>& grid);

/// Whether two index maps compute the same.
bool sameMap(mlir::func::FuncOp a, mlir::func::FuncOp b);

}  // namespace smalti::cpu
