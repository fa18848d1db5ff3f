// Which products are fed across the steps of the grid: while a step computes, the operands of the next steps are on
// their way to shared memory.
#pragma once

#include <optional>
#include <vector>

#include "cpu/plan/GridPlan.h"
#include "gpu/device/TensorMap.h"
#include "gpu/plan/RegisterPlan.h"

namespace smalti::gpu {

/// The operand of a product is all of an input's block. Dimensions of its array:
struct StreamedOperand {
  size_t block = 0;                  ///< number of the input (KernelArguments)
  size_t sideDim = 0, depthDim = 0;  ///< rows or columns of the result; what is contracted
  size_t map = 0;                    ///< of StreamPlan::maps, where boxes are copied
};

struct StreamedProduct {
  mlir::Operation* product = nullptr;
  std::optional<StreamedOperand> lhs;  ///< absent: it is in registers
  StreamedOperand rhs;
  ProductTile tile;
  int64_t chunks = 0;     ///< of the depth in each step
  mlir::Value condition;  ///< i1 of the grid's indices: the steps that compute it. Null: all

  /// 0: the left one.
  const StreamedOperand* operand(size_t side) const { return side == 1 ? &rhs : lhs ? &*lhs : nullptr; }
};

/// Registers of each thread after the kernel has shared them out: all threads begin with as many as the others. 0: it
/// does not.
struct RegisterShares {
  int copying = 0, computing = 0;
};

/// The chunks of all steps are a sequence of items, each of which has a stage until it is multiplied.
struct StreamPlan {
  std::vector<StreamedProduct> products;  ///< in the order of the kernel
  int stages = 0;
  int64_t itemBytes = 0;  ///< of a stage
  /// One thread more copies boxes of the arrays (TMA), and signals say when they are there and when they have been
  /// read; else all threads copy.
  bool byBoxes = false;
  int copyThreads = 0;  ///< where boxes are copied: the threads added for that, of which one copies
  RegisterShares registers;
  std::vector<TensorMap> maps;
  /// Products of warp groups may still be pending when the next step begins: there is one, it adds to scratch in
  /// registers, and whoever looks at that waits.
  bool crossesSteps = false;

  static constexpr int64_t kSignalBytes = 8, kSignalsBytes = 1024;  ///< of all, so that what follows is aligned
  int64_t signalsAt() const { return stages * itemBytes; }
  /// Of shared memory.
  int64_t bytes() const { return signalsAt() + (byBoxes ? kSignalsBytes : 0); }
  /// By its tpu.matmul; null: it is not streamed.
  const StreamedProduct* find(mlir::Operation*) const;
};

/// Of the products that are planned, those that a step of the grid computes once, or not at all if its indices say so,
/// whose operands are whole blocks of inputs that lie inside of their arrays and that the kernel does not write.
StreamPlan planStream(const KernelPackage&, const RegisterPlan&, const cpu::GridPlan&, const Architecture&);

}  // namespace smalti::gpu
