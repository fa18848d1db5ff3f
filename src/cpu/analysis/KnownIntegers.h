// Constant propagation: integers of a kernel that are the same whenever the analysed part of it runs.
#pragma once

#include <cstdint>
#include <optional>

#include "llvm/ADT/DenseMap.h"
#include "mlir/IR/Operation.h"

namespace smalti::cpu {

/// Integers by value, sign-extended from their width (an i1 is 0 or -1): scalars, and vectors whose elements are all
/// the same.
class KnownIntegers {
 public:
  std::optional<int64_t> find(mlir::Value) const;
  /// Sets what is known of a value; nullopt: nothing, even if it was known before.
  void set(mlir::Value, std::optional<int64_t>);
  /// Derives the result of an arithmetic op from its known operands; nothing is known of other ops' results.
  void follow(mlir::Operation&);

 private:
  std::optional<int64_t> evaluate(mlir::Operation&) const;
  llvm::DenseMap<mlir::Value, int64_t> known_;
};

}  // namespace smalti::cpu
