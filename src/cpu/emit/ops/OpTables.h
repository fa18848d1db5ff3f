// The ops that nests cannot compute, each with the function that lowers it: one table per file of emit/ops and product.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "cpu/emit/NativeLowering.h"

namespace smalti::cpu {

using LowerOp = NativeResult (*)(NativeLowering&, mlir::Operation&);
using NativeOpRow = std::pair<std::string_view, LowerOp>;

std::span<const NativeOpRow> argReduceOps();
std::span<const NativeOpRow> atomicOps();
std::span<const NativeOpRow> bitcastOps();
std::span<const NativeOpRow> controlOps();
std::span<const NativeOpRow> convOps();
std::span<const NativeOpRow> iotaOps();
std::span<const NativeOpRow> matmulOps();
std::span<const NativeOpRow> memoryOps();
std::span<const NativeOpRow> reduceOps();
std::span<const NativeOpRow> rotateGatherOps();
std::span<const NativeOpRow> shapeOps();
std::span<const NativeOpRow> syncOps();

/// All tables.
std::span<const std::span<const NativeOpRow>> nativeOpTables();
/// Null: the op is in none of the tables.
LowerOp findLowering(mlir::Operation&);

}  // namespace smalti::cpu
