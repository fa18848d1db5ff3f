// Products whose result is only stored, possibly after an addition: these can be computed in the memory of the store.
#pragma once

#include <optional>
#include <vector>

#include "mlir/IR/Operation.h"

namespace smalti::cpu {

/// The chain of ops from a product to a plain store (no mask, no addition to memory) in the same block. Each op of the
/// chain is the only user of the one before it.
struct ProductStore {
  mlir::Operation* store = nullptr;
  mlir::Value added;                    ///< the other operand of the one addition in the chain; null: there is none
  std::vector<mlir::Operation*> chain;  ///< reshapes by unit dimensions, the addition, and the store, in program order
};

/// nullopt: the result has other users.
std::optional<ProductStore> findProductStore(mlir::Operation& product);

/// Other ops between the product and the store. None of them uses the product.
std::vector<mlir::Operation*> opsBetween(mlir::Operation& product, const ProductStore&);

/// Whether the op is a reshape that adds or removes dimensions of size 1.
bool isUnitReshape(mlir::Operation&);

}  // namespace smalti::cpu
