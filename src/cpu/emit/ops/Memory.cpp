// Loads, stores and views of refs. Every access is checked before it happens: where the bounds cannot be proved when
// the kernel is compiled, the code checks them.
#include <array>

#include "cpu/emit/RefViews.h"
#include "cpu/emit/Sizes.h"
#include "cpu/emit/ops/HazardChecks.h"
#include "cpu/emit/ops/OpTables.h"
#include "cpu/emit/ops/PackedAccess.h"
#include "cpu/emit/ops/ReadOutside.h"
#include "ir/TpuOpsMemory.h"
#include "ir/Types.h"
#include "ir/facts/AccessBox.h"
#include "ir/facts/Waits.h"

namespace smalti::cpu {
namespace {

constexpr const char* kCode = "native code";  // in reasons

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
    located.inside = l.b.CreateAnd(located.inside, fits(l.b, start, l.index(box->span(d)), extent(l.b, whole, d)));
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

/// Does the same as boxOf for a ref whose element width differs from that in memory.
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
  auto box = boxOf(l, op, op.getOperand(0), op.getOperands().drop_front(), {}, true);
  if (!box) return tl::unexpected(box.error());
  l.setScalar(op.getResult(0), loadElements(l.b, box->dtype, box->base, 1));
  return {};
}

NativeResult lowerScalarStore(NativeLowering& l, mlir::Operation& op) {
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

NativeResult lowerSliceRef(NativeLowering& l, mlir::Operation& op) { return sliceRef(l, op, kCode); }
NativeResult lowerReshapeRef(NativeLowering& l, mlir::Operation& op) { return reshapeRef(l, op, kCode); }
NativeResult lowerAnnotate(NativeLowering& l, mlir::Operation& op) { return annotateRef(l, op, kCode); }

NativeResult lowerMemorySpaceIs(NativeLowering& l, mlir::Operation& op) {
  l.setScalar(op.getResult(0), l.b.getInt1(llvm::cast<tpu::MemRefMemorySpaceIsOp>(op).holds()));
  return {};
}

NativeResult lowerAlloca(NativeLowering& l, mlir::Operation& op) {
  auto type = llvm::cast<mlir::MemRefType>(op.getResult(0).getType());
  l.setRef(op.getResult(0), l.allocateScoped(elementDType(type), type.getShape()));
  return {};
}

constexpr std::array<NativeOpRow, 14> kMemoryOps{{
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

std::span<const NativeOpRow> memoryOps() { return kMemoryOps; }

}  // namespace smalti::cpu
