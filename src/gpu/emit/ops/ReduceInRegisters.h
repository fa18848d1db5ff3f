// Reductions of elements that the threads have in registers (plan/ElementShare.h): each thread combines its own
// elements, warps combine theirs by shuffles, and after one barrier all threads compute the results.
#pragma once

#include <optional>

#include "cpu/nest/Reduction.h"
#include "gpu/emit/GpuLowering.h"

namespace smalti::gpu {

/// A reduction whose elements are in registers. For each element of a thread, its result is known at compile time.
struct RegisterReduction {
  eval::ReduceKind kind;
  DType dtype;
  Shape shape;                      ///< shape of the source
  llvm::SmallVector<int64_t> kept;  ///< dimensions that are not reduced
  int64_t results = 1;
  ElementShare share;
};

/// nullopt: the elements do not fit into registers, or their results are not known at compile time.
std::optional<RegisterReduction> reductionInRegisters(const GpuLowering&, mlir::Operation&);
NativeResult reduceInRegisters(GpuLowering&, mlir::Operation&, const RegisterReduction&);

/// Allocates two buffers for the partial results of warps of each reduction in the body, which even and odd points use
/// in turn. Therefore no barrier is needed between points: the memory is written again two points later, after the
/// barrier of the same reduction in the point between. Returns the memories.
MemorySet allocateReductionBuffers(GpuLowering&, mlir::Block& body);

}  // namespace smalti::gpu
