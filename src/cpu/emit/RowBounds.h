// The rows that anything depends on, as registers.
#pragma once

#include <optional>

#include "cpu/emit/NativeLowering.h"

namespace smalti::cpu {

/// Rows from `begin` to before `end`; i64.
struct RowBounds {
  Reg begin = nullptr, end = nullptr;
};

/// The bounds of a planned range of a value of `rows` rows; nullopt: they cannot be computed yet.
std::optional<RowBounds> rowBounds(NativeLowering&, const RowGroups&, int64_t rows);

/// Computes a scalar before its op is lowered; null if an operand is not available yet.
Reg hoistedScalar(NativeLowering&, mlir::Value);

}  // namespace smalti::cpu
