// Views of refs, and memory that a kernel allocates while it runs.
#include <array>

#include "base/Tiles.h"
#include "cpu/emit/Sizes.h"
#include "gpu/emit/Bounds.h"
#include "ir/TpuOpsMemory.h"
#include "ir/Types.h"
#include "ir/facts/Waits.h"
#include "mlir/IR/BuiltinTypes.h"

namespace smalti::gpu {
namespace {

using tpu::MemorySpace;

NativeResult lowerSlice(GpuLowering& l, mlir::Operation& op) {
  const auto segments = integersAttribute(op, "operandSegmentSizes");
  const cpu::PackedView* packed = l.packedRef(op.getOperand(0));
  if (segments.size() != 3 || (!packed && !l.hasRef(op.getOperand(0))))
    return unsupported("a slice of a ref that device code does not follow");
  const View whole = packed ? packed->cells : l.ref(op.getOperand(0));
  const Shape sizes = shapeOf(op.getResult(0).getType());
  if (sizes.size() != whole.shape.size() || segments[1] != static_cast<int64_t>(sizes.size()))
    return unsupported("a slice whose rank differs from its ref's");
  const auto wide = [&](unsigned operand) -> Reg {
    Reg r = operand < op.getNumOperands() ? l.scalar(op.getOperand(operand)) : nullptr;
    return r ? l.b.CreateSExtOrTrunc(r, l.b.getInt64Ty()) : nullptr;
  };
  std::vector<Reg> starts, extents, present;
  Shape padding(sizes.size());
  auto nextDynamic = static_cast<unsigned>(1 + sizes.size());
  bool dynamic = false;
  Reg touchesNothing = l.b.getInt1(isOnlyWaitedFor(op.getResult(0)));
  for (size_t d = 0; d < sizes.size(); ++d) {
    dynamic |= sizes[d] == kDynamicSize;
    Reg size = sizes[d] == kDynamicSize ? wide(nextDynamic++) : l.index(sizes[d]);
    Reg start = wide(static_cast<unsigned>(1 + d));
    if (!start || !size) return unsupported("a slice of a ref that device code does not follow");
    starts.push_back(start);
    extents.push_back(size);
    touchesNothing = l.b.CreateOr(touchesNothing, l.b.CreateICmpEQ(size, l.index(0)));
  }
  present = extents;
  for (size_t d = 0; d < sizes.size(); ++d) {
    Reg start = starts[d], size = extents[d], array = cpu::presentExtent(l.b, whole, d);
    const int64_t tail = whole.padding.empty() ? 0 : whole.padding[d];
    Reg anywhere = l.b.CreateAnd(touchesNothing, l.b.CreateICmpSGE(size, l.index(0)));
    l.require(l.b.CreateOr(anywhere, fits(l, start, size, l.b.CreateAdd(array, l.index(tail)))));
    if (tail == 0 || constantOf(touchesNothing) == 1) continue;
    // A slice may extend into the padding of the last tile, but must contain part of the array.
    l.require(l.b.CreateOr(l.b.CreateICmpULT(start, array), touchesNothing));
    present[d] = cpu::smallerSize(l.b, size, l.b.CreateSub(array, start));
    if (constantOf(start) == 0 && constantOf(size) == whole.shape[d]) padding[d] = tail;
  }
  if (packed) {
    cpu::PackedView view = cpu::slice(l.b, *packed, starts, sizes);
    if (dynamic) view.cells.sizes = std::move(extents);
    l.setPackedRef(op.getResult(0), std::move(view));
    return {};
  }
  View view = cpu::slice(l.b, whole, starts, sizes);
  if (!llvm::equal(present, extents)) view.present = std::move(present);
  if (dynamic) view.sizes = std::move(extents);
  if (llvm::any_of(padding, [](int64_t n) { return n > 0; })) view.padding = std::move(padding);
  l.setRef(op.getResult(0), std::move(view));
  return {};
}

/// Lowers a bitcast or reshape if the ref accesses memory as elements of another width, before or after the op.
NativeResult lowerPackedRef(GpuLowering& l, mlir::Operation& op, const cpu::PackedView& from) {
  const Shape shape = shapeOf(op.getResult(0).getType());
  const DType dtype = elementDType(op.getResult(0).getType());
  const bool casts = llvm::isa<tpu::MemRefBitcastOp>(op);
  auto view = casts ? cpu::bitcastView(
                          l.b, [&](Reg ok) { l.require(ok); }, from, dtype, shape)
                    : cpu::reshape(l.b, from, shape);
  if (!view) return unsupported(casts ? "a bitcast of a ref to another width" : "a reshape of a ref in parts");
  if (view->isPlain())
    l.setRef(op.getResult(0), std::move(view->cells));
  else
    l.setPackedRef(op.getResult(0), std::move(*view));
  return {};
}

NativeResult lowerReshape(GpuLowering& l, mlir::Operation& op) {
  if (const cpu::PackedView* packed = l.packedRef(op.getOperand(0)))
    return lowerPackedRef(l, op, cpu::PackedView(*packed));
  if (!l.hasRef(op.getOperand(0))) return unsupported("a ref that device code does not follow");
  const View whole = l.ref(op.getOperand(0));
  const Shape shape = shapeOf(op.getResult(0).getType());
  const DType dtype = elementDType(op.getResult(0).getType());
  // Below a byte, elements of different dtypes are stored differently.
  if (dtype != whole.dtype && (bit_width(dtype) != bit_width(whole.dtype) || bit_width(dtype) < 8))
    return lowerPackedRef(l, op, cpu::unpacked(whole));
  if (dtype != whole.dtype && (is_semaphore(dtype) || is_semaphore(whole.dtype)))
    return unsupported("a bitcast of a ref to another width");
  if (!whole.dynamic() && (llvm::is_contained(shape, kDynamicSize) || num_elements(shape) != whole.elements()))
    return unsupported("a reshape of a ref to another size");
  auto view = cpu::reshape(l.b, whole, shape);
  if (!view && !whole.extendsPast())
    if (auto strided = cpu::reshape(l.b, cpu::unpacked(whole), shape)) {
      view = std::move(strided->cells);
      view->padding = paddingAfterReshape(whole.shape, whole.padding, shape);
    }
  if (!view) return unsupported("a reshape of a ref that is not a strided view");
  view->dtype = dtype;
  l.setRef(op.getResult(0), std::move(*view));
  return {};
}

NativeResult lowerAnnotate(GpuLowering& l, mlir::Operation& op) {
  if (const cpu::PackedView* packed = l.packedRef(op.getOperand(0))) {
    l.setPackedRef(op.getResult(0), cpu::PackedView(*packed));
    return {};
  }
  if (!l.hasRef(op.getOperand(0))) return unsupported("a ref that device code does not follow");
  const View same = l.ref(op.getOperand(0));
  l.setRef(op.getResult(0), same);
  return {};
}

NativeResult lowerMemorySpaceIs(GpuLowering& l, mlir::Operation& op) {
  l.setScalar(op.getResult(0), l.b.getInt1(llvm::cast<tpu::MemRefMemorySpaceIsOp>(op).holds()));
  return {};
}

NativeResult lowerAlloca(GpuLowering& l, mlir::Operation& op) {
  auto type = llvm::cast<mlir::MemRefType>(op.getResult(0).getType());
  const auto space = tpu::memorySpaceOf(type);
  if (!space || !type.hasStaticShape() || (*space != MemorySpace::vmem && *space != MemorySpace::smem))
    return unsupported("an allocation outside VMEM and SMEM");
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
