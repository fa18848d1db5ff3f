#include "tpu/OtherMemory.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include "ir/Tpu.h"
#include "ir/Types.h"
#include "tpu/Tiling.h"

namespace smalti::tpu {
namespace {

/// A scalar occupies whole words.
int64_t scalarBytes(const ArrayType& t) { return (t.elements() * elementBits(t.dtype) + 31) / 32 * 4; }

void add(mlir::MemRefType type, OtherMemory& out) {
  const auto space = memorySpaceOf(type);
  if (space == MemorySpace::semaphore_mem) out.semaphores += type.getNumElements();
  const auto array = arrayTypeOf(type);
  if (space == MemorySpace::smem && array) out.smemBytes += scalarBytes(*array);
}

}  // namespace

OtherMemory otherMemoryOf(const KernelPackage& p, const Chip& chip) {
  OtherMemory out{.smemLimitBytes = chip.memory.smemBytes, .hbmLimitBytes = chip.memory.hbmBytes};
  mlir::func::FuncOp f = p.kernelFunction();
  if (!f) return out;
  for (mlir::BlockArgument argument : f.getArguments())
    if (auto type = mlir::dyn_cast<mlir::MemRefType>(argument.getType())) add(type, out);
  f.walk([&](mlir::memref::AllocaOp op) { add(op.getType(), out); });
  for (const ArrayType& t : p.operands) out.hbmBytes += t.bytes();
  for (size_t o = 0; o < p.results.size(); ++o) {
    const bool isAliased = llvm::any_of(p.aliases, [&](const Alias& a) { return a.output == static_cast<int>(o); });
    if (!isAliased) out.hbmBytes += p.results[o].bytes();
  }
  return out;
}

}  // namespace smalti::tpu
