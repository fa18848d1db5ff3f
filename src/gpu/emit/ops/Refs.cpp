// Views of refs, and memory that a kernel allocates while it runs.
#include <array>

#include "cpu/emit/RefViews.h"
#include "gpu/emit/GpuLowering.h"
#include "ir/TpuOpsMemory.h"
#include "ir/Types.h"
#include "ir/facts/Waits.h"
#include "mlir/IR/BuiltinTypes.h"

namespace smalti::gpu {
namespace {

using tpu::MemorySpace;

constexpr const char* kCode = "device code";  // in reasons

NativeResult lowerSlice(GpuLowering& l, mlir::Operation& op) { return cpu::sliceRef(l, op, kCode); }
NativeResult lowerReshape(GpuLowering& l, mlir::Operation& op) { return cpu::reshapeRef(l, op, kCode); }
NativeResult lowerAnnotate(GpuLowering& l, mlir::Operation& op) { return cpu::annotateRef(l, op, kCode); }

NativeResult lowerMemorySpaceIs(GpuLowering& l, mlir::Operation& op) {
  l.setScalar(op.getResult(0), l.b.getInt1(llvm::cast<tpu::MemRefMemorySpaceIsOp>(op).holds()));
  return {};
}

NativeResult lowerAlloca(GpuLowering& l, mlir::Operation& op) {
  auto type = llvm::cast<mlir::MemRefType>(op.getResult(0).getType());
  const auto space = tpu::memorySpaceOf(type);
  if (!space || !type.hasStaticShape() ||
      (*space != MemorySpace::vmem && *space != MemorySpace::smem && *space != MemorySpace::hbm))
    return unsupported("an allocation outside VMEM, SMEM and HBM");
  const DType t = elementDType(type);
  l.setRef(op.getResult(0), l.allocateUndefined(t, t, type.getShape()));
  return {};
}

constexpr std::array<GpuOpRow, 7> kRefsTable{{
    {"tpu.memref_slice", lowerSlice},
    {"tpu.memref_squeeze", lowerReshape},
    {"tpu.memref_reshape", lowerReshape},
    {"tpu.memref_bitcast", lowerReshape},
    {"tpu.annotate", lowerAnnotate},
    {"tpu.memref_memory_space_is", lowerMemorySpaceIs},
    {"memref.alloca", lowerAlloca},
}};

}  // namespace

std::span<const GpuOpRow> refOps() { return kRefsTable; }

}  // namespace smalti::gpu
