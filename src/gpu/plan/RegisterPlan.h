// Which products the tensor cores compute, and what the threads keep of them in registers.
#pragma once

#include "gpu/plan/ProductTile.h"
#include "ir/KernelPackage.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/IR/Value.h"

namespace smalti::gpu {

/// Where the result of a product goes.
enum class ProductResult : uint8_t {
  memory,       ///< to memory, which all threads can read
  registers,    ///< it stays where it is computed: each thread needs the elements that it has
  accumulated,  ///< it is added to scratch that is in registers
};

struct PlannedProduct {
  ProductTile tile;
  ProductResult result = ProductResult::memory;
  mlir::Value scratch;  ///< that it is added to
  mlir::Value sum;      ///< the value that is stored there
  mlir::Value begins;   ///< i1: the sum begins at 0 here, not at what the scratch has; null: never
};

struct RegisterPlan {
  llvm::DenseMap<mlir::Operation*, PlannedProduct> products;  ///< by tpu.matmul; others are not for tensor cores
  llvm::DenseMap<mlir::Value, ProductTile> scratch;  ///< refs whose elements are in registers from step to step
  llvm::DenseSet<mlir::Operation*> clearing;         ///< branches that only set such refs to 0: products do so
  int threads = 0;                                   ///< of a block that the products want; 0: no products
};

/// Decides from the kernel and what the GPU has.
///
///   acc[...] += dot(x[...], y[...])       acc in registers, where all that is done with it is done element by element
///   o[...] = f(dot(x[...], y[...]))       the result in registers
RegisterPlan planRegisters(const KernelPackage&, const Architecture&);

}  // namespace smalti::gpu
