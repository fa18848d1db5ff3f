// Between MLIR's element types and ours.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "mlir/IR/Types.h"

#include "smalti/array.h"

namespace mlir {
class MLIRContext;
class ShapedType;
}  // namespace mlir

namespace smalti {

/// The dtype of a scalar or element type: i1 is pred, signless integers are the signed member, ui8 is u8.
/// nullopt for a type that kernels do not have.
std::optional<DType> dtypeOf(mlir::Type);
/// The type inside kernels: integers are signless (u8 is i8), pred is i1.
mlir::Type typeOf(DType, mlir::MLIRContext&);
/// Static shape and dtype of a vector or memref, shape {} of a scalar. nullopt where a dimension is dynamic.
std::optional<ArrayType> arrayTypeOf(mlir::Type);

/// The size of a dynamic dimension, '?': mlir::ShapedType::kDynamic.
constexpr int64_t kDynamicSize = INT64_MIN;
/// Shape of a vector, memref or (empty) scalar type; '?' is kDynamicSize.
Shape shapeOf(mlir::Type);
/// The dtype of an element type, or of a type that has one; f32 if kernels lack it.
DType elementDType(mlir::Type);
/// Number of elements, -1 when dynamic or beyond what memory can hold.
int64_t checkedElements(std::span<const int64_t> shape);

}  // namespace smalti
