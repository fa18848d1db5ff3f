// Plans which products are staged in shared memory, and which values the threads keep in registers.
#pragma once

#include "gpu/plan/ProductTile.h"
#include "ir/KernelPackage.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/IR/Value.h"
#include "smalti/gpu_params.h"

namespace smalti::gpu {

/// Where the result of a product goes.
enum class ProductResult : uint8_t {
  memory,       ///< memory, which all threads can read
  registers,    ///< the threads that compute it, since each only needs its own elements
  accumulated,  ///< scratch in registers, to which it is added
};

/// How the elements of a matrix are distributed among the threads' registers: like the sums of a tile.
struct Distribution {
  ProductTile tile;
  /// A value per row, of shape [rows, 1] or [rows]: each thread has the values of the rows in which it has elements. No
  /// two warps have elements of the same row.
  bool perRow = false;

  int64_t elements() const { return perRow ? 2 * tile.fragmentsM : tile.sums(); }  ///< per thread
  /// The distribution of a value per row, and of a matrix with the same rows and this many columns.
  Distribution ofRows() const { return {tile, true}; }
  Distribution ofColumns(int64_t columns) const;
  /// Whether each thread has the same elements in both.
  bool same(const Distribution&) const;
};

struct PlannedProduct {
  ProductTile tile;
  int64_t chunks = 0;  ///< chunks of K
  ProductResult result = ProductResult::memory;
  mlir::Value scratch;  ///< the ref that the product is added to
  mlir::Value sum;      ///< the value that is stored to `scratch`, or the sum of `start` and the product
  mlir::Value begins;   ///< i1: the sum begins at 0 instead of the value of the scratch; null: never
  mlir::Value start;    ///< the sums begin with this value, and the product is computed where `sum` is; null: 0
  /// The first wgmma replaces the sums (scale-d), so that they need not be cleared.
  bool beginsAtZero = false;
  bool lhsInRegisters = false;  ///< the left operand is computed in registers and multiplied from there
};

struct RegisterPlan {
  llvm::DenseMap<mlir::Operation*, PlannedProduct> products;  ///< by tpu.matmul; others are not staged
  llvm::DenseMap<mlir::Value, Distribution> scratch;  ///< refs whose elements are in registers from step to step
  /// Branches that only set such refs to 0, which products do instead.
  llvm::DenseSet<mlir::Operation*> zeroInitBranches;
  llvm::DenseMap<mlir::Operation*, mlir::Operation*> sums;  ///< the product by the op of `sum`, if it has a `start`
  int threads = 0;                                          ///< per block; 0: there are no products
  int64_t kept = 0;                                         ///< registers per thread for all these values
};

/// Plans these forms:
///
///   acc[...] += dot(x[...], y[...])       acc in registers, if all other uses are element-wise
///   o[...] = f(dot(x[...], y[...]))       the result in registers
///   p = f(dot(x[...], y[...]), max(…, axis 1))   values per row in registers as well
///   acc[...] = acc[...] * r + dot(p, y[...])     acc and the left operand in registers
RegisterPlan planRegisters(const KernelPackage&, const Architecture&, const GpuParams&);

}  // namespace smalti::gpu
