// The rows that anything depends on, as registers.
#pragma once

#include <optional>

#include "cpu/emit/NativeLowering.h"

namespace smalti::cpu {

/// Rows from `begin` to before `end`; i64.
struct RowBounds {
  Reg begin = nullptr, end = nullptr;
};

/// Of a value of so many rows, or of so many that all of these values are cut into; nullopt: all rows are wanted, or
/// which ones cannot be computed before the values are.
std::optional<RowBounds> neededRows(NativeLowering&, llvm::ArrayRef<mlir::Value> values, int64_t rows);

/// A scalar whose op comes later, perhaps: what it is computed from is there. Null where that is not so.
Reg hoistedScalar(NativeLowering&, mlir::Value);

}  // namespace smalti::cpu
