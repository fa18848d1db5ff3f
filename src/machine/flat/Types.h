// What MLIR types and locations mean to the machine.
#pragma once

#include <optional>
#include <string>

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include "ir/Types.h"
#include "machine/Memory.h"

namespace smalti::machine::flat {

/// Shape of a vector, memref or (empty) scalar type; '?' is mlir::ShapedType::kDynamic.
Shape shapeOf(mlir::Type);
DType elementDType(mlir::Type);
/// Number of elements, -1 when dynamic or beyond what memory can hold.
int64_t checkedElements(std::span<const int64_t> shape);
std::optional<MemorySpace> memorySpaceOf(mlir::MemRefType);
/// tpu.memref_memory_space_is: what may lie in any memory lies in HBM.
bool isInMemorySpace(mlir::Operation&);

/// Text of a type or op for messages, shortened.
std::string typeText(mlir::Type);
/// "tpu.iota () -> vector<8x128xi32>".
std::string opText(mlir::Operation&);

/// Inherent or discardable attributes by name, with what they are when absent.
int64_t integerAttribute(mlir::Operation&, llvm::StringRef name, int64_t otherwise);
bool boolAttribute(mlir::Operation&, llvm::StringRef name);
std::string stringAttribute(mlir::Operation&, llvm::StringRef name);
/// Dense arrays, arrays of integer attributes, or absent (empty).
std::vector<int64_t> integersAttribute(mlir::Operation&, llvm::StringRef name);
/// An enum attribute's keyword: "arg_max" of #tpu.reduction_kind<arg_max>, "add" of #vector.kind<add>.
std::string keywordAttribute(mlir::Operation&, llvm::StringRef name);

}  // namespace smalti::machine::flat
