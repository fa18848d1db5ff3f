// Emits code that divides a grid axis into runs of steps (cpu::BlockRuns), which blocks of threads take like points.
#pragma once

#include "gpu/emit/GpuLowering.h"
#include "ir/KernelArguments.h"

namespace smalti::gpu {

/// Steps of the axis from `begin` to before `end`, i64. Empty: no run begins at `begin`.
struct BlockRun {
  Reg begin = nullptr, end = nullptr;
};

class BlockRunCode {
 public:
  BlockRunCode(GpuLowering& l, const KernelArguments& arguments) : l_(l), b_(l.b), arguments_(arguments) {}

  /// Checks that the coordinates never decrease along the axis; if one does, the whole axis is one run. Executed by all
  /// `threads` threads of the block; contains barriers. `points`: of the launch.
  NativeResult begin(Reg points, int threads);
  /// The run that begins at this step, an i64 that is the same in all threads.
  tl::expected<BlockRun, cpu::Unsupported> at(Reg step);

 private:
  size_t axis() const { return static_cast<size_t>(l_.plan.grid.sharedAxes); }
  tl::expected<Reg, cpu::Unsupported> coordinateAt(size_t output, Reg step);
  tl::expected<std::pair<Reg, Reg>, cpu::Unsupported> changesBefore(Reg step);
  tl::expected<Reg, cpu::Unsupported> beginsAt(Reg step);

  GpuLowering& l_;
  Builder& b_;
  const KernelArguments& arguments_;
  View flag_;              ///< 1 if the coordinates never decrease; empty: this is proved
  Reg ascends_ = nullptr;  ///< i1: the same
};

}  // namespace smalti::gpu
