// Plain loads and stores of boxes of a ref: without mask, strides or addition.
#pragma once

#include <optional>
#include <vector>

#include "mlir/IR/Operation.h"

namespace smalti::cpu {

/// One store or load of a whole ref, from its first element.
struct WholeAccess {
  mlir::Value ref, value;  ///< `value`: stored or loaded
  bool isStore = false;
};
std::optional<WholeAccess> wholeAccess(mlir::Operation&);

/// One store or load of a box of the ref's rank.
struct BoxAccess : WholeAccess {
  std::vector<bool> whole;  ///< by dimension: the box covers the whole ref
  unsigned firstIndex = 0;  ///< the operand that is the box's first index
};
std::optional<BoxAccess> boxAccess(mlir::Operation&);

}  // namespace smalti::cpu
