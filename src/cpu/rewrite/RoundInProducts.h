// Lets products of few rows round their right operand as they read it, where kernels round what they load.
//
//   before                                                       after
//   %k = vector.load %pages : vector<4x16x128xf32>               %k = vector.load %pages : vector<4x16x128xf32>
//   %n = arith.truncf %k : f32 to bf16                           %m = vector.shape_cast %k : vector<64x128xf32>
//   %m = vector.shape_cast %n : vector<64x128xbf16>              %s = tpu.matmul %q, %m, %zero {rounds_rhs}
//   %s = tpu.matmul %q, %m, %zero
#pragma once

#include <optional>

#include "cpu/Processor.h"
#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// Whether the right operand of a tpu.matmul is f32 and rounded to bf16 as it is read. No other component knows the
/// attribute.
bool roundsRight(mlir::Operation& matmul);
/// Whether a vector.shape_cast is such an operand. The product follows it directly and reads the memory behind it.
bool isReadInPlace(mlir::Operation& shapeCast);

/// A skinny product reads its right operand once: rounding it in registers saves a pass over memory that stores it as
/// bf16, and the conversion of what is loaded again. Removes the attributes of a module that has them already. nullopt:
/// the kernel has neither such products nor attributes.
std::optional<KernelPackage> roundInProducts(const KernelPackage&, const Processor&);

}  // namespace smalti::cpu
