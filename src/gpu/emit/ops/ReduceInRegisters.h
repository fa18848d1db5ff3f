// Reductions of elements that the threads have in registers (plan/ElementShare.h): each thread combines its own, warps
// shuffle, and all threads then have the results, without another barrier.
#pragma once

#include <optional>

#include "cpu/nest/Reduction.h"
#include "gpu/emit/GpuLowering.h"

namespace smalti::gpu {

/// A reduction whose elements are in registers, those of a thread known results' each.
struct RegisterReduction {
  eval::ReduceKind kind;
  DType dtype;
  Shape shape;                      ///< of the source
  llvm::SmallVector<int64_t> kept;  ///< dimensions that are not reduced
  int64_t results = 1;
  ElementShare share;
};

/// nullopt: its elements do not fit, or a thread's elements are not known to be of one result.
std::optional<RegisterReduction> reductionInRegisters(const GpuLowering&, mlir::Operation&);
NativeResult reduceInRegisters(GpuLowering&, mlir::Operation&, const RegisterReduction&);

/// Makes room for the parts that warps exchange in the reductions of a point: twice, for points with odd numbers and
/// for others, and used for nothing else. No thread then waits for those that still read the parts of an earlier
/// reduction, or of the point before; the same memory is written two points later, after the barrier of a reduction in
/// between. Gives the memories, which need no barrier between points.
MemorySet prepareExchanges(GpuLowering&, mlir::Block& body);

}  // namespace smalti::gpu
