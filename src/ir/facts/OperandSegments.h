// Operands of ops whose operands are grouped in segments.
#pragma once

#include <vector>

#include "mlir/IR/Operation.h"

namespace smalti {

/// Operands of an op with AttrSizedOperandSegments, at most one in each segment: semaphores and copies.
class OperandSegments {
 public:
  explicit OperandSegments(mlir::Operation&);
  /// Whether there are `atLeast` segments or more, none has several operands, and together they have all operands.
  bool isValid(size_t atLeast) const;
  /// Null where a segment is empty or missing.
  mlir::Value operator[](size_t segment) const;

 private:
  mlir::Operation& op_;
  std::vector<int64_t> sizes_;
};

}  // namespace smalti
