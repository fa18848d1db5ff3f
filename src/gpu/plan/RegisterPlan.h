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

/// How the elements of a matrix are distributed among the threads' registers: as those of a tile are.
struct Distribution {
  ProductTile tile;
  /// A value per row, [rows, 1] or [rows]: each thread has those of the rows of its elements. No two warps have
  /// elements of one row.
  bool perRow = false;

  int64_t elements() const { return perRow ? 2 * tile.high : tile.sums(); }  ///< of a thread
  /// The value per row of such a matrix, and a matrix of so many columns with the same rows.
  Distribution ofRows() const { return {tile, true}; }
  Distribution ofColumns(int64_t columns) const;
  /// Whether each thread has the same elements.
  bool same(const Distribution&) const;
};

struct PlannedProduct {
  ProductTile tile;
  ProductResult result = ProductResult::memory;
  mlir::Value scratch;  ///< that it is added to
  mlir::Value sum;      ///< the value that is stored there, or the sum of `start` and the product
  mlir::Value begins;   ///< i1: the sum begins at 0 here, not at what the scratch has; null: never
  mlir::Value start;    ///< what the sums begin with; the product is computed where `sum` is. Null: 0
  /// In registers, the sums begin at 0 by the first product's own flag: nothing is cleared.
  bool beginsAtZero = false;
  bool lhsInRegisters = false;  ///< the left operand is computed from values in registers, and multiplied from there
};

struct RegisterPlan {
  llvm::DenseMap<mlir::Operation*, PlannedProduct> products;  ///< by tpu.matmul; others are not for tensor cores
  llvm::DenseMap<mlir::Value, Distribution> scratch;        ///< refs whose elements are in registers from step to step
  llvm::DenseSet<mlir::Operation*> clearing;                ///< branches that only set such refs to 0: products do so
  llvm::DenseMap<mlir::Operation*, mlir::Operation*> sums;  ///< by the op of `sum`, if there is a `start`: the product
  int threads = 0;                                          ///< of a block that the products want; 0: no products
  int64_t kept = 0;                                         ///< registers of a thread that all of this occupies
};

/// Decides from the kernel and what the GPU has.
///
///   acc[...] += dot(x[...], y[...])       acc in registers, where all that is done with it is done element by element
///   o[...] = f(dot(x[...], y[...]))       the result in registers
///   p = f(dot(x[...], y[...]), max(…, axis 1))   values per row in registers, too
///   acc[...] = acc[...] * r + dot(p, y[...])     with the left operand in registers, and acc
RegisterPlan planRegisters(const KernelPackage&, const Architecture&);

}  // namespace smalti::gpu
