// Attributes of ops by name, and ops and types as messages name them.
#pragma once

#include <string>
#include <vector>

#include "mlir/IR/Operation.h"

namespace smalti {

/// Inherent or discardable attributes by name, with what they are when absent.
int64_t integerAttribute(mlir::Operation&, llvm::StringRef name, int64_t otherwise);
bool boolAttribute(mlir::Operation&, llvm::StringRef name);
std::string stringAttribute(mlir::Operation&, llvm::StringRef name);
/// Dense arrays, arrays of integer attributes, or absent (empty).
std::vector<int64_t> integersAttribute(mlir::Operation&, llvm::StringRef name);
/// An enum attribute's keyword: "arg_max" of #tpu.reduction_kind<arg_max>, "add" of #vector.kind<add>.
std::string keywordAttribute(mlir::Operation&, llvm::StringRef name);

/// Text of a type or op for messages, shortened.
std::string typeText(mlir::Type);
/// "tpu.iota () -> vector<8x128xi32>".
std::string opText(mlir::Operation&);

}  // namespace smalti
