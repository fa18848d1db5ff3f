// Slices, reshapes and bitcasts of refs, for compilers for CPUs and GPUs. `Lowering` is theirs: NativeLowering or
// GpuLowering; `code` names what they make, for reasons: "native code".
#pragma once

#include <string>

#include "base/Tiles.h"
#include "cpu/Unsupported.h"
#include "cpu/emit/PackedView.h"
#include "cpu/emit/Sizes.h"
#include "ir/TpuOpsMemory.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "ir/facts/Waits.h"

namespace smalti::cpu {

inline tl::unexpected<Unsupported> doesNotFollow(const std::string& what, const char* code) {
  return unsupported(what + " that " + code + " does not follow");
}

template <class Lowering>
NativeResult sliceRef(Lowering& l, mlir::Operation& op, const char* code) {
  const auto segments = integersAttribute(op, "operandSegmentSizes");
  const PackedView* packed = l.packedRef(op.getOperand(0));
  if (segments.size() != 3 || (!packed && !l.hasRef(op.getOperand(0)))) return doesNotFollow("a slice of a ref", code);
  const View whole = packed ? packed->cells : l.ref(op.getOperand(0));
  const Shape sizes = shapeOf(op.getResult(0).getType());
  if (sizes.size() != whole.shape.size() || segments[1] != static_cast<int64_t>(sizes.size()))
    return unsupported("a slice whose rank differs from its ref's");
  if (packed && !packed->hasSlice(sizes)) return unsupported(kFoldedRows);
  const auto wide = [&](unsigned operand) -> Reg {
    Reg r = operand < op.getNumOperands() ? l.scalar(op.getOperand(operand)) : nullptr;
    return r ? l.b.CreateSExtOrTrunc(r, l.b.getInt64Ty()) : nullptr;
  };
  std::vector<Reg> starts, extents, present;
  Shape padding(sizes.size());
  auto nextDynamic = static_cast<unsigned>(1 + sizes.size());
  const bool dynamic = llvm::is_contained(sizes, kDynamicSize);
  Reg isEmptyAccess = l.b.getInt1(isOnlyWaitedFor(op.getResult(0)));
  for (size_t d = 0; d < sizes.size(); ++d) {
    Reg size = sizes[d] == kDynamicSize ? wide(nextDynamic++) : l.index(sizes[d]);
    Reg start = wide(static_cast<unsigned>(1 + d));
    if (!start || !size) return doesNotFollow("a slice of a ref", code);
    starts.push_back(start);
    extents.push_back(size);
    isEmptyAccess = l.b.CreateOr(isEmptyAccess, l.b.CreateICmpEQ(size, l.index(0)));
  }
  present = extents;
  for (size_t d = 0; d < sizes.size(); ++d) {
    Reg start = starts[d], size = extents[d], array = presentExtent(l.b, whole, d);
    const int64_t tail = whole.padding.empty() ? 0 : whole.padding[d];
    Reg anywhere = l.b.CreateAnd(isEmptyAccess, l.b.CreateICmpSGE(size, l.index(0)));
    l.require(l.b.CreateOr(anywhere, fits(l.b, start, size, l.b.CreateAdd(array, l.index(tail)))));
    if (tail == 0 || constantOf(isEmptyAccess) == 1) continue;
    // A slice may extend into the padding of the last tile, but must contain part of the array.
    l.require(l.b.CreateOr(l.b.CreateICmpULT(start, array), isEmptyAccess));
    present[d] = smallerSize(l.b, size, l.b.CreateSub(array, start));
    if (constantOf(start) == 0 && constantOf(size) == whole.shape[d]) padding[d] = tail;
  }
  if (packed) {
    PackedView view = slice(l.b, *packed, starts, sizes);
    if (dynamic) view.cells.sizes = std::move(extents);
    l.setPackedRef(op.getResult(0), std::move(view));
    return {};
  }
  View view = slice(l.b, whole, starts, sizes);
  if (!llvm::equal(present, extents)) view.present = std::move(present);
  if (dynamic) view.sizes = std::move(extents);
  if (llvm::any_of(padding, [](int64_t n) { return n > 0; })) view.padding = std::move(padding);
  l.setRef(op.getResult(0), std::move(view));
  return {};
}

/// A bitcast or reshape of a ref that accesses memory as elements of another width, before or after the op.
template <class Lowering>
NativeResult reshapePackedRef(Lowering& l, mlir::Operation& op, const PackedView& from) {
  const Shape shape = shapeOf(op.getResult(0).getType());
  const DType dtype = elementDType(op.getResult(0).getType());
  const bool casts = llvm::isa<tpu::MemRefBitcastOp>(op);
  auto view = casts ? bitcastView(l.b, [&](Reg ok) { l.require(ok); }, from, dtype, shape) : reshape(l.b, from, shape);
  if (!view) return unsupported(casts ? "a bitcast of a ref to another width" : "a reshape of a ref in parts");
  if (view->isPlain())
    l.setRef(op.getResult(0), std::move(view->cells));
  else
    l.setPackedRef(op.getResult(0), std::move(*view));
  return {};
}

template <class Lowering>
NativeResult reshapeRef(Lowering& l, mlir::Operation& op, const char* code) {
  if (const PackedView* packed = l.packedRef(op.getOperand(0))) return reshapePackedRef(l, op, PackedView(*packed));
  if (!l.hasRef(op.getOperand(0))) return doesNotFollow("a ref", code);
  const View whole = l.ref(op.getOperand(0));
  const Shape shape = shapeOf(op.getResult(0).getType());
  const DType dtype = elementDType(op.getResult(0).getType());
  // Below a byte, elements of different dtypes are stored differently.
  if (dtype != whole.dtype && (bit_width(dtype) != bit_width(whole.dtype) || bit_width(dtype) < 8))
    return reshapePackedRef(l, op, unpacked(whole));
  if (dtype != whole.dtype && (is_semaphore(dtype) || is_semaphore(whole.dtype)))
    return unsupported("a bitcast of a ref to another width");
  if (!whole.dynamic() && (llvm::is_contained(shape, kDynamicSize) || num_elements(shape) != whole.elements()))
    return unsupported("a reshape of a ref to another size");
  auto view = reshape(l.b, whole, shape);
  if (!view && !whole.extendsPast())
    if (auto strided = reshape(l.b, unpacked(whole), shape)) {
      if (strided->fold > 1) {
        strided->dtype = strided->cells.dtype = dtype;
        l.setPackedRef(op.getResult(0), std::move(*strided));
        return {};
      }
      view = std::move(strided->cells);
      view->padding = paddingAfterReshape(whole.shape, whole.padding, shape);
    }
  if (!view) return unsupported("a reshape of a ref that is not a strided view");
  view->dtype = dtype;
  l.setRef(op.getResult(0), std::move(*view));
  return {};
}

/// The result is the ref itself.
template <class Lowering>
NativeResult annotateRef(Lowering& l, mlir::Operation& op, const char* code) {
  if (const PackedView* packed = l.packedRef(op.getOperand(0))) {
    l.setPackedRef(op.getResult(0), PackedView(*packed));
    return {};
  }
  if (!l.hasRef(op.getOperand(0))) return doesNotFollow("a ref", code);
  l.setRef(op.getResult(0), View(l.ref(op.getOperand(0))));
  return {};
}

}  // namespace smalti::cpu
