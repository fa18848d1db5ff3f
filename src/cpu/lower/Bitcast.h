// Bits seen as elements of another width.
#pragma once

#include "cpu/lower/Lowering.h"

namespace smalti::cpu {

/// Between dense views whose last dimensions are equal (S-D7, S-D8): narrow row r·k + j holds part j of each word of
/// wide row r, rows counted over all dimensions but the last.
void bitcastRows(Lowering&, const View& from, const View& to);

/// A load through a ref that sees its memory as elements of another width (`cast`: tpu.memref_bitcast).
Native lowerBitcastLoad(Lowering&, mlir::Operation& load, mlir::Operation& cast);
/// The cast of the ref that an op loads from, when it changes the width; else null.
mlir::Operation* widthCastOf(mlir::Operation& load);
/// Whether every use of a width-changing cast is a load.
bool isOnlyLoaded(mlir::Operation& cast);

}  // namespace smalti::cpu
