// Plans products whose operands are copied across the steps of the grid: while a step computes, the operands of the
// next steps are being copied to shared memory.
#pragma once

#include <optional>
#include <vector>

#include "cpu/plan/GridPlan.h"
#include "gpu/device/TensorMap.h"
#include "gpu/plan/RegisterPlan.h"

namespace smalti::gpu {

/// An operand of a product that is the whole block of an input.
struct StreamedOperand {
  size_t block = 0;                   ///< number of the input (KernelArguments)
  size_t sideDim = 0, depthDim = 0;   ///< dimensions of its array: rows or columns of the result; K
  size_t map = 0;                     ///< index into StreamPlan::maps, if boxes are copied
  std::vector<size_t> alongLastAxis;  ///< dimensions of its array in which the block's number is the last axis' index
  std::optional<size_t> resident;     ///< index into StreamPlan::residents; absent: copied in every step
  bool isAligned = false;             ///< each row of each block begins at a multiple of 16 bytes
};

struct StreamedProduct {
  mlir::Operation* product = nullptr;
  std::optional<StreamedOperand> lhs;  ///< absent: it is in registers
  StreamedOperand rhs;
  ProductTile tile;
  int64_t chunks = 0;     ///< chunks of K in each step
  mlir::Value condition;  ///< i1: whether the step computes the product; null: every step does

  /// 0: the left operand, null if it is in registers. 1: the right one.
  const StreamedOperand* operand(size_t side) const { return side == 1 ? &rhs : lhs ? &*lhs : nullptr; }
  StreamedOperand* operand(size_t side) { return side == 1 ? &rhs : lhs ? &*lhs : nullptr; }
  /// Bytes of a chunk of an operand, and of what a stage contains of it.
  int64_t chunkBytes(size_t side) const { return side == 0 ? tile.lhsBytes : tile.rhsBytes; }
  int64_t stagedBytes(size_t side) const {
    const StreamedOperand* o = operand(side);
    return o && !o->resident ? chunkBytes(side) : 0;
  }
  int64_t stagedBytes() const { return stagedBytes(0) + stagedBytes(1); }
  /// Where the operand begins in a stage.
  int64_t offsetInStage(size_t side) const { return side == 0 ? 0 : stagedBytes(0); }
};

/// An operand whose block is the same in all steps of a point of the launch. All of its chunks are copied once per
/// point: with TMA to one of two buffers, while the last point is still being computed, otherwise to the only one.
struct ResidentOperand {
  size_t product = 0, side = 0;  ///< one of the operands that are this block
  int64_t offset = 0;            ///< bytes from the beginning of the buffer
};

/// Registers per thread after setmaxnreg; 0: unchanged.
struct RegisterShares {
  int copying = 0, computing = 0;
};

/// The mbarriers of a stream. Of each stage: its data has arrived, all warps have read it; the same of each buffer of
/// residents; of each warp group: it is its turn.
enum class StreamMbarrier : uint8_t { full, free, residentFull, residentFree, turn };

/// The chunks of all products of all steps form a sequence; a chunk occupies a stage until it has been multiplied.
struct StreamPlan {
  std::vector<StreamedProduct> products;  ///< in program order
  int stages = 0;
  int64_t stageBytes = 0;  ///< bytes of a stage
  /// An additional thread copies boxes with TMA; mbarriers signal when data has arrived and when it has been read.
  /// Otherwise all threads copy with cp.async.
  bool usesTma = false;
  int copyThreads = 0;  ///< number of additional threads with TMA, of which one copies
  RegisterShares registers;
  std::vector<TensorMap> maps;
  std::vector<ResidentOperand> residents;
  int64_t residentBytes = 0;  ///< bytes of a buffer of residents
  /// Bytes that a step copies to stages, and of the blocks that it copies. Products under different conditions are
  /// those of different steps: the step with the most counts.
  int64_t copiedBytes = 0, blockBytes = 0;
  /// From one step to the next along the last grid axis, blocks only move by their size, in
  /// StreamedOperand::alongLastAxis.
  bool stepsAlongLastAxis = false;
  /// Warp groups issue their products in turns, so that one computes with registers while the products of another keep
  /// the tensor cores busy; 0: they do not, otherwise the number of warp groups.
  int turns = 0;
  /// Products of warp groups may still be in flight when the next step begins. The kernel then has a single product,
  /// which is added to scratch in registers, and code that reads the scratch waits.
  bool pendingAcrossSteps = false;

  static constexpr int64_t kMbarrierBytes = 8;
  static constexpr int64_t kMbarriersBytes = 1024;  ///< bytes of all mbarriers, with alignment
  int residentBuffers() const { return usesTma ? 2 : 1; }
  int64_t residentsAt() const { return stages * stageBytes; }
  int64_t mbarriersAt() const { return residentsAt() + residentBuffers() * residentBytes; }
  /// The number of the first mbarrier of a kind.
  int firstMbarrier(StreamMbarrier kind) const {
    const int first[] = {0, stages, 2 * stages, 2 * stages + residentBuffers(), 2 * stages + 2 * residentBuffers()};
    return first[static_cast<size_t>(kind)];
  }
  int mbarriers() const { return firstMbarrier(StreamMbarrier::turn) + turns; }
  /// Bytes of shared memory for stages and mbarriers.
  int64_t bytes() const { return mbarriersAt() + (usesTma ? kMbarriersBytes : 0); }
  /// The product of this tpu.matmul; null: it is not streamed.
  const StreamedProduct* find(mlir::Operation*) const;
};

/// Plans the stream of the products that each step of the grid computes once, or not at all if a condition on its
/// indices is false. Their operands must be whole blocks of inputs, inside their arrays, that the kernel does not
/// write. `hasRuns`: the first of the axes that are not shared is divided into runs (LaunchPlan::runs).
StreamPlan planStream(const KernelPackage&, const RegisterPlan&, const cpu::GridPlan&, bool hasRuns,
                      const Architecture&, const GpuParams&);

}  // namespace smalti::gpu
