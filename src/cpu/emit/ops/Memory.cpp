// Loads, stores and views of refs. Every access is checked before it happens: where the bounds cannot be proved when
// the kernel is compiled, the code checks them.
#include <array>

#include "base/Tiles.h"
#include "cpu/emit/Sizes.h"
#include "cpu/emit/ops/HazardChecks.h"
#include "cpu/emit/ops/OpTables.h"
#include "cpu/emit/ops/PackedAccess.h"
#include "cpu/emit/ops/ReadOutside.h"
#include "ir/TpuOpsMemory.h"
#include "ir/Types.h"
#include "ir/facts/AccessBox.h"
#include "ir/facts/Waits.h"
#include "llvm/ADT/StringMap.h"

namespace smalti::cpu {
namespace {

/// start ≥ 0 and start + span ≤ bound, where span ≥ 0 counts from the first element touched to the last.
Reg fits(NativeLowering& l, Reg start, Reg span, Reg bound) {
  return l.b.CreateAnd(l.b.CreateICmpULE(span, bound), l.b.CreateICmpULE(start, l.b.CreateSub(bound, span)));
}

/// The region of a ref that an op accesses, where the kernel runs.
struct LocatedBox {
  AccessBox box;
  std::vector<Reg> starts;
  Reg inside = nullptr;  ///< i1: all of it is inside the ref
};

/// The box that an op accesses in a ref of that shape; the caller ensures that it is inside.
tl::expected<LocatedBox, Unsupported> boundsOf(NativeLowering& l, mlir::Operation& op, const View& whole,
                                               mlir::ValueRange indices, const Shape& valueShape) {
  const auto box = accessBoxOf(op, whole.shape.size(), indices.size(), valueShape);
  if (!box) return unsupported(box.error());
  LocatedBox located{*box, {}, l.b.getTrue()};
  for (size_t d = 0; d < indices.size(); ++d) {
    Reg start = l.scalar(indices[d]);
    if (!start) return unsupported("an index that native code does not follow");
    located.starts.push_back(start);
    if (box->isEmpty()) continue;
    located.inside = l.b.CreateAnd(located.inside, fits(l, start, l.index(box->span(d)), extent(l.b, whole, d)));
  }
  return located;
}

/// The box that an op accesses as a view of the value's shape.
tl::expected<View, Unsupported> boxOf(NativeLowering& l, mlir::Operation& op, mlir::Value ref, mlir::ValueRange indices,
                                      Shape valueShape, bool scalar) {
  if (!l.hasRef(ref)) return unsupported("a ref that native code does not follow");
  const View& whole = l.ref(ref);
  auto bounds = boundsOf(l, op, whole, indices, valueShape);
  if (!bounds) return tl::unexpected(bounds.error());
  const bool writes = op.getNumResults() == 0;
  if (!writes)
    if (auto ok = l.flushIfPlanned(FlushPoint::load); !ok) return tl::unexpected(ok.error());
  View box = slice(l.b, whole, bounds->starts, bounds->box.sizes, bounds->box.steps);
  if (writes) {
    l.require(bounds->inside);
  } else {
    box.base =
        loadedFrom(l, op, whole, {bounds->starts, bounds->box.sizes, bounds->box.steps}, bounds->inside, box.base);
    // The next load outside overwrites the copy.
    if (box.reuse.isInvariant) box.reuse.isInvariant = l.b.CreateAnd(box.reuse.isInvariant, bounds->inside);
  }
  emitHazardCheck(l, op, box, writes);
  if (scalar) return box;
  auto shaped = reshape(l.b, box, valueShape);
  if (!shaped) return unsupported("a load or store that reshapes");
  return *shaped;
}

/// The same as boxOf, for a ref whose elements have another width than those in memory.
tl::expected<PackedView, Unsupported> packedBoxOf(NativeLowering& l, mlir::Operation& op, mlir::Value ref,
                                                  mlir::ValueRange indices, const Shape& valueShape, bool scalar) {
  const PackedView& whole = *l.packedRef(ref);
  auto bounds = boundsOf(l, op, whole.cells, indices, valueShape);
  if (!bounds) return tl::unexpected(bounds.error());
  l.require(bounds->inside);
  PackedView box = slice(l.b, whole, bounds->starts, bounds->box.sizes, bounds->box.steps);
  box.cells.sizes.clear();
  emitHazardCheck(l, op, storedCells(l.b, box), op.getNumResults() == 0);
  auto shaped = reshape(l.b, box, valueShape);
  if (!shaped) return unsupported("a load or store that reshapes");
  return *shaped;
}

NativeResult lowerPackedLoad(NativeLowering& l, mlir::Operation& op) {
  const bool scalar = !isVector(op.getResult(0));
  const Shape shape = scalar ? Shape{} : shapeOf(op.getResult(0).getType());
  // Not deferred: it is read here.
  if (auto ok = l.flush(); !ok) return ok;
  auto box = packedBoxOf(l, op, op.getOperand(0), op.getOperands().drop_front(), shape, scalar);
  if (!box) return tl::unexpected(box.error());
  if (l.plan.dead.contains(&op)) return {};
  View value = gatherPacked(l, *box);
  if (scalar)
    l.setScalar(op.getResult(0), loadElements(l.b, value.dtype, value.base, 1));
  else
    l.setView(op.getResult(0), std::move(value));
  return {};
}

NativeResult lowerVectorLoad(NativeLowering& l, mlir::Operation& op) {
  if (l.packedRef(op.getOperand(0))) return lowerPackedLoad(l, op);
  auto box = boxOf(l, op, op.getOperand(0), op.getOperands().drop_front(), shapeOf(op.getResult(0).getType()), false);
  if (!box) return tl::unexpected(box.error());
  if (!l.plan.dead.contains(&op)) l.addAccess(op, std::move(*box));
  return {};
}

NativeResult lowerScalarLoad(NativeLowering& l, mlir::Operation& op) {
  if (l.packedRef(op.getOperand(0))) return lowerPackedLoad(l, op);
  if (auto ok = l.flush(); !ok) return ok;
  auto box = boxOf(l, op, op.getOperand(0), op.getOperands().drop_front(), {}, true);
  if (!box) return tl::unexpected(box.error());
  l.setScalar(op.getResult(0), loadElements(l.b, box->dtype, box->base, 1));
  return {};
}

NativeResult lowerScalarStore(NativeLowering& l, mlir::Operation& op) {
  if (auto ok = l.flush(); !ok) return ok;
  if (l.packedRef(op.getOperand(1))) {
    auto box = packedBoxOf(l, op, op.getOperand(1), op.getOperands().drop_front(2), {}, true);
    if (!box) return tl::unexpected(box.error());
    Reg value = l.scalar(op.getOperand(0));
    if (!value) return unsupported("a scalar that native code does not follow");
    const View element = l.allocate(box->dtype, Shape{});
    storeElements(l.b, element.dtype, value, element.base, 1);
    copyPacked(l, unpacked(element), *box);
    return {};
  }
  auto box = boxOf(l, op, op.getOperand(1), op.getOperands().drop_front(2), {}, true);
  if (!box) return tl::unexpected(box.error());
  Reg value = l.scalar(op.getOperand(0));
  if (!value) return unsupported("a scalar that native code does not follow");
  storeElements(l.b, box->dtype, value, box->base, 1);
  return {};
}

/// A store through a ref with another element width: neighbouring bits of the same stored element are preserved.
NativeResult lowerPackedStore(NativeLowering& l, mlir::Operation& op, mlir::Value value, mlir::Value ref,
                              mlir::ValueRange indices, mlir::Value mask) {
  if (auto ok = l.flush(); !ok) return ok;
  const Shape shape = shapeOf(value.getType());
  auto box = packedBoxOf(l, op, ref, indices, shape, false);
  if (!box) return tl::unexpected(box.error());
  const PackedView from = unpacked(l.view(value));
  if (mask)
    copyPackedWhere(l, from, *box, l.view(mask));
  else
    copyPacked(l, from, *box);
  return {};
}

NativeResult addStore(NativeLowering& l, mlir::Operation& op, mlir::Value value, mlir::Value ref,
                      mlir::ValueRange indices, mlir::Value mask) {
  if (l.packedRef(ref)) return lowerPackedStore(l, op, value, ref, indices, mask);
  auto box = boxOf(l, op, ref, indices, shapeOf(value.getType()), false);
  if (!box) return tl::unexpected(box.error());
  l.addAccess(op, std::move(*box));
  return {};
}

NativeResult lowerVectorStore(NativeLowering& l, mlir::Operation& op) {
  const auto segments = integersAttribute(op, "operandSegmentSizes");
  const auto rank = static_cast<unsigned>(segments[2]);
  return addStore(l, op, op.getOperand(0), op.getOperand(1), op.getOperands().slice(2, rank),
                  segments[3] == 1 ? op.getOperand(op.getNumOperands() - 1) : mlir::Value());
}

NativeResult lowerStore(NativeLowering& l, mlir::Operation& op) {
  return addStore(l, op, op.getOperand(0), op.getOperand(1), op.getOperands().drop_front(2), {});
}

// ---- refs

NativeResult lowerSliceRef(NativeLowering& l, mlir::Operation& op) {
  const auto segments = integersAttribute(op, "operandSegmentSizes");
  const PackedView* packed = l.packedRef(op.getOperand(0));
  if (segments.size() != 3 || (!packed && !l.hasRef(op.getOperand(0))))
    return unsupported("a slice of a ref that native code does not follow");
  const View& whole = packed ? packed->cells : l.ref(op.getOperand(0));
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
  const bool dynamic = llvm::is_contained(sizes, kDynamicSize);
  Reg touchesNothing = l.b.getInt1(isOnlyWaitedFor(op.getResult(0)));
  for (size_t d = 0; d < sizes.size(); ++d) {
    Reg size = sizes[d] == kDynamicSize ? wide(nextDynamic++) : l.index(sizes[d]);
    Reg start = wide(static_cast<unsigned>(1 + d));
    if (!start || !size) return unsupported("a slice of a ref that native code does not follow");
    starts.push_back(start);
    extents.push_back(size);
    touchesNothing = l.b.CreateOr(touchesNothing, l.b.CreateICmpEQ(size, l.index(0)));
  }
  present = extents;
  for (size_t d = 0; d < sizes.size(); ++d) {
    Reg start = starts[d], size = extents[d], array = presentExtent(l.b, whole, d);
    const int64_t tail = whole.padding.empty() ? 0 : whole.padding[d];
    Reg anywhere = l.b.CreateAnd(touchesNothing, l.b.CreateICmpSGE(size, l.index(0)));
    l.require(l.b.CreateOr(anywhere, fits(l, start, size, l.b.CreateAdd(array, l.index(tail)))));
    if (tail == 0 || constantOf(touchesNothing) == 1) continue;
    // It may extend into the last tile, but must overlap the array.
    l.require(l.b.CreateOr(l.b.CreateICmpULT(start, array), touchesNothing));
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

/// A ref whose element width differs from that in memory, before or after the op.
NativeResult lowerPackedRef(NativeLowering& l, mlir::Operation& op, const PackedView& from) {
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

NativeResult lowerReshapeRef(NativeLowering& l, mlir::Operation& op) {
  if (const PackedView* packed = l.packedRef(op.getOperand(0))) return lowerPackedRef(l, op, *packed);
  if (!l.hasRef(op.getOperand(0))) return unsupported("a ref that native code does not follow");
  const View& whole = l.ref(op.getOperand(0));
  Shape shape = shapeOf(op.getResult(0).getType());
  const DType dtype = elementDType(op.getResult(0).getType());
  // Below a byte, elements of different dtypes are stored differently.
  if (dtype != whole.dtype && (bit_width(dtype) != bit_width(whole.dtype) || bit_width(dtype) < 8))
    return lowerPackedRef(l, op, unpacked(whole));
  if (dtype != whole.dtype && (is_semaphore(dtype) || is_semaphore(whole.dtype)))
    return unsupported("a bitcast of a ref to another width");
  if (!whole.dynamic() && (llvm::is_contained(shape, kDynamicSize) || num_elements(shape) != whole.elements()))
    return unsupported("a reshape of a ref to another size");
  auto view = reshape(l.b, whole, shape);
  if (!view) {
    if (whole.extendsPast()) return unsupported("a reshape of a ref that is not a strided view");
    auto strided = reshape(l.b, unpacked(whole), shape);
    if (!strided) return unsupported("a reshape of a ref that is not a strided view");
    view = std::move(strided->cells);
    view->padding = paddingAfterReshape(whole.shape, whole.padding, shape);
  }
  view->dtype = dtype;
  l.setRef(op.getResult(0), std::move(*view));
  return {};
}

NativeResult lowerAnnotate(NativeLowering& l, mlir::Operation& op) {
  if (const PackedView* packed = l.packedRef(op.getOperand(0))) {
    l.setPackedRef(op.getResult(0), *packed);
    return {};
  }
  if (!l.hasRef(op.getOperand(0))) return unsupported("a ref that native code does not follow");
  l.setRef(op.getResult(0), l.ref(op.getOperand(0)));
  return {};
}

NativeResult lowerMemorySpaceIs(NativeLowering& l, mlir::Operation& op) {
  l.setScalar(op.getResult(0), l.b.getInt1(llvm::cast<tpu::MemRefMemorySpaceIsOp>(op).holds()));
  return {};
}

NativeResult lowerAlloca(NativeLowering& l, mlir::Operation& op) {
  auto type = llvm::cast<mlir::MemRefType>(op.getResult(0).getType());
  l.setRef(op.getResult(0), l.allocateScoped(elementDType(type), type.getShape()));
  return {};
}

constexpr std::array<NativeOpRow, 14> kTable{{
    {"vector.load", lowerVectorLoad},
    {"tpu.strided_load", lowerVectorLoad},
    {"memref.load", lowerScalarLoad},
    {"memref.store", lowerScalarStore},
    {"tpu.vector_store", lowerVectorStore},
    {"tpu.strided_store", lowerStore},
    {"vector.store", lowerStore},
    {"tpu.memref_slice", lowerSliceRef},
    {"tpu.memref_squeeze", lowerReshapeRef},
    {"tpu.memref_reshape", lowerReshapeRef},
    {"tpu.memref_bitcast", lowerReshapeRef},
    {"tpu.annotate", lowerAnnotate},
    {"tpu.memref_memory_space_is", lowerMemorySpaceIs},
    {"memref.alloca", lowerAlloca},
}};

}  // namespace

tl::expected<View, Unsupported> storeBox(NativeLowering& l, mlir::Operation& op) {
  auto store = llvm::cast<tpu::VectorStoreOp>(op);
  return boxOf(l, op, store.getBase(), store.getIndices(), shapeOf(store.getValueToStore().getType()), false);
}

std::span<const NativeOpRow> memoryOps() { return kTable; }

}  // namespace smalti::cpu
