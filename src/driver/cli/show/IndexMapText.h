#pragma once

#include <string>

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cli {

/// The results of an index map, as a formula of the grid's indices: "(i, k // 2)", "(prefetch0[i], 0)".
std::string indexMapText(mlir::func::FuncOp);

}  // namespace smalti::cli
