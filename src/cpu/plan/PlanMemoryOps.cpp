// Loads, stores, atomic updates and views of refs: what they compute first, and what is known of their memory.
#include <array>

#include "base/Tiles.h"
#include "cpu/ops/NativeOps.h"
#include "cpu/ops/OpForms.h"
#include "cpu/plan/BodyPlanner.h"
#include "ir/TpuOpsAtomic.h"
#include "ir/TpuOpsMemory.h"
#include "ir/Types.h"
#include "ir/facts/AccessBox.h"
#include "ir/facts/Attributes.h"
#include "ir/facts/Waits.h"

namespace smalti::cpu {
namespace {

using schedule::isVector;

constexpr const char* kUnknownRef = "a ref that native code does not follow";

/// Whether [start, start + span) is known to be inside [0, bound).
bool fits(KnownNumber start, int64_t span, KnownNumber bound) {
  if (!start || !bound) return false;
  const auto limit = static_cast<uint64_t>(*bound), length = static_cast<uint64_t>(span);
  return length <= limit && static_cast<uint64_t>(*start) <= limit - length;
}

bool isInside(const BodyPlanner& p, const AccessBox& box, const MemoryView& whole, mlir::ValueRange indices) {
  if (box.isEmpty()) return true;
  for (size_t d = 0; d < indices.size(); ++d)
    if (!fits(p.integers.find(indices[d]), box.span(d), extent(whole, d))) return false;
  return true;
}

/// The box that an op accesses as a view of the value's shape.
tl::expected<MemoryView, Unsupported> boxOf(BodyPlanner& p, mlir::Operation& op, mlir::Value ref,
                                            mlir::ValueRange indices, const Shape& valueShape, bool scalar) {
  if (!p.hasRef(ref)) return unsupported(kUnknownRef);
  const MemoryView& whole = p.ref(ref);
  const auto region = accessBoxOf(op, whole.shape.size(), indices.size(), valueShape);
  if (!region) return unsupported(region.error());
  if (op.getNumResults() > 0 && !isInside(p, *region, whole, indices)) {
    // Elements inside are copied by the load, not in a nest: stores to them must have been executed before.
    const auto storesThere = [&](const schedule::ScheduledOp& o) {
      return o.isStore() && o.access->memory == whole.memory;
    };
    if (llvm::any_of(p.scheduler.pending(), storesThere)) p.flush();
  }
  const MemoryView box = slice(whole, region->sizes, region->steps);
  if (scalar) return box;
  auto shaped = reshape(box, valueShape);
  if (!shaped) return unsupported("a load or store that reshapes");
  return *shaped;
}

NativeResult checkPackedBox(const PackedMemory& ref, mlir::Operation& op, mlir::ValueRange indices, mlir::Type value) {
  const bool scalar = !llvm::isa<mlir::VectorType>(value);
  const auto region = accessBoxOf(op, ref.cells.shape.size(), indices.size(), scalar ? Shape{} : shapeOf(value));
  if (!region) return unsupported(region.error());
  return ref.hasSlice(region->sizes, region->steps) ? NativeResult() : unsupported(kFoldedRows);
}

NativeResult planPackedLoad(BodyPlanner& p, mlir::Operation& op) {
  const mlir::Value result = op.getResult(0);
  if (auto ok = checkPackedBox(*p.packedRef(op.getOperand(0)), op, op.getOperands().drop_front(), result.getType());
      !ok)
    return ok;
  p.flush();
  if (isVector(result) && !p.scheduler.liveness().dead(&op))
    p.setView(result, BodyPlanner::allocate(p.packedRef(op.getOperand(0))->dtype, shapeOf(result.getType())));
  return {};
}

NativeResult planVectorLoad(BodyPlanner& p, mlir::Operation& op) {
  if (p.packedRef(op.getOperand(0))) return planPackedLoad(p, op);
  auto box = boxOf(p, op, op.getOperand(0), op.getOperands().drop_front(), shapeOf(op.getResult(0).getType()), false);
  if (!box) return tl::unexpected(box.error());
  if (!p.scheduler.liveness().dead(&op)) p.addAccess({.op = &op}, std::move(*box));
  return {};
}

NativeResult planScalarLoad(BodyPlanner& p, mlir::Operation& op) {
  if (p.packedRef(op.getOperand(0))) return planPackedLoad(p, op);
  p.flush();
  const auto box = boxOf(p, op, op.getOperand(0), op.getOperands().drop_front(), {}, true);
  return box ? NativeResult() : tl::unexpected(box.error());
}

NativeResult planScalarStore(BodyPlanner& p, mlir::Operation& op) {
  if (const PackedMemory* packed = p.packedRef(op.getOperand(1)))
    if (auto ok = checkPackedBox(*packed, op, op.getOperands().drop_front(2), op.getOperand(0).getType()); !ok)
      return ok;
  p.flushBeforeWrites();
  return {};
}

NativeResult addStore(BodyPlanner& p, mlir::Operation& op, mlir::Value value, mlir::Value ref, mlir::ValueRange indices,
                      mlir::Value mask) {
  if (const PackedMemory* packed = p.packedRef(ref)) {
    if (auto ok = checkPackedBox(*packed, op, indices, value.getType()); !ok) return ok;
    if (boolAttribute(op, "add")) return unsupported("a store that adds through a bitcast of a ref to another width");
    p.flushBeforeWrites();
    p.view(value);
    if (mask) p.view(mask);
    return {};
  }
  auto box = boxOf(p, op, ref, indices, shapeOf(value.getType()), false);
  if (!box) return tl::unexpected(box.error());
  p.addAccess({.op = &op, .stored = value, .mask = mask, .adds = boolAttribute(op, "add")}, std::move(*box));
  return {};
}

NativeResult planVectorStore(BodyPlanner& p, mlir::Operation& op) {
  const auto segments = integersAttribute(op, "operandSegmentSizes");
  const auto rank = static_cast<unsigned>(segments[2]);
  return addStore(p, op, op.getOperand(0), op.getOperand(1), op.getOperands().slice(2, rank),
                  segments[3] == 1 ? op.getOperand(op.getNumOperands() - 1) : mlir::Value());
}

NativeResult planStore(BodyPlanner& p, mlir::Operation& op) {
  return addStore(p, op, op.getOperand(0), op.getOperand(1), op.getOperands().drop_front(2), {});
}

// ---- refs

NativeResult planSliceRef(BodyPlanner& p, mlir::Operation& op) {
  constexpr const char* kUnknownSlice = "a slice of a ref that native code does not follow";
  const auto segments = integersAttribute(op, "operandSegmentSizes");
  const PackedMemory* packed = p.packedRef(op.getOperand(0));
  if (segments.size() != 3 || (!packed && !p.hasRef(op.getOperand(0)))) return unsupported(kUnknownSlice);
  const MemoryView& whole = packed ? packed->cells : p.ref(op.getOperand(0));
  const Shape sizes = shapeOf(op.getResult(0).getType());
  if (sizes.size() != whole.shape.size() || segments[1] != static_cast<int64_t>(sizes.size()))
    return unsupported("a slice whose rank differs from its ref's");
  if (packed && !packed->hasSlice(sizes)) return unsupported(kFoldedRows);
  const auto known = [&](unsigned operand) {
    return operand < op.getNumOperands() ? p.integers.find(op.getOperand(operand)) : std::nullopt;
  };
  std::vector<KnownNumber> extents;
  Shape padding(sizes.size());
  bool extendsPast = false, isPadded = false;
  auto nextDynamic = static_cast<unsigned>(1 + sizes.size());
  bool isEmptyAccess = isOnlyWaitedFor(op.getResult(0));
  for (const int64_t size : sizes) {
    extents.push_back(size == kDynamicSize ? known(nextDynamic++) : KnownNumber(size));
    isEmptyAccess |= extents.back() == 0;
  }
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t tail = whole.padding.empty() ? 0 : whole.padding[d];
    if (tail == 0 || isEmptyAccess) continue;
    const KnownNumber start = known(static_cast<unsigned>(1 + d));
    extendsPast |= !start || !extents[d] || *extents[d] > whole.shape[d] - *start;
    if (start == 0 && extents[d] == whole.shape[d]) padding[d] = tail;
    isPadded |= padding[d] > 0;
  }
  const bool dynamic = llvm::is_contained(sizes, kDynamicSize);
  if (packed) {
    PackedMemory view = slice(*packed, sizes);
    if (dynamic) view.cells.sizes = std::move(extents);
    p.setPackedRef(op.getResult(0), std::move(view));
    return {};
  }
  MemoryView view = slice(whole, sizes);
  if (extendsPast) view.present.assign(sizes.size(), std::nullopt);
  if (dynamic) view.sizes = std::move(extents);
  if (isPadded) view.padding = std::move(padding);
  p.setRef(op.getResult(0), std::move(view));
  return {};
}

/// A ref whose element width differs from that in memory, before or after the op.
NativeResult planPackedRef(BodyPlanner& p, mlir::Operation& op, const PackedMemory& from) {
  const Shape shape = shapeOf(op.getResult(0).getType());
  const bool casts = llvm::isa<tpu::MemRefBitcastOp>(op);
  auto view = casts ? bitcastMemory(from, elementDType(op.getResult(0).getType()), shape) : reshape(from, shape);
  if (!view) return unsupported(casts ? "a bitcast of a ref to another width" : "a reshape of a ref in parts");
  if (view->isPlain())
    p.setRef(op.getResult(0), std::move(view->cells));
  else
    p.setPackedRef(op.getResult(0), std::move(*view));
  return {};
}

NativeResult planReshapeRef(BodyPlanner& p, mlir::Operation& op) {
  if (const PackedMemory* packed = p.packedRef(op.getOperand(0))) return planPackedRef(p, op, PackedMemory(*packed));
  if (!p.hasRef(op.getOperand(0))) return unsupported(kUnknownRef);
  const MemoryView whole = p.ref(op.getOperand(0));
  const Shape shape = shapeOf(op.getResult(0).getType());
  const DType dtype = elementDType(op.getResult(0).getType());
  if (dtype != whole.dtype && (bit_width(dtype) != bit_width(whole.dtype) || bit_width(dtype) < 8))
    return planPackedRef(p, op, unpacked(whole));
  if (!whole.dynamic() && (llvm::is_contained(shape, kDynamicSize) || num_elements(shape) != whole.elements()))
    return unsupported("a reshape of a ref to another size");
  auto view = reshape(whole, shape);
  if (!view) {
    auto strided = whole.extendsPast() ? std::nullopt : reshape(unpacked(whole), shape);
    if (!strided) return unsupported("a reshape of a ref that is not a strided view");
    if (strided->fold > 1) {
      strided->dtype = strided->cells.dtype = dtype;
      p.setPackedRef(op.getResult(0), std::move(*strided));
      return {};
    }
    view = std::move(strided->cells);
    view->padding = paddingAfterReshape(whole.shape, whole.padding, shape);
  }
  view->dtype = dtype;
  p.setRef(op.getResult(0), std::move(*view));
  return {};
}

NativeResult planAnnotate(BodyPlanner& p, mlir::Operation& op) {
  if (const PackedMemory* packed = p.packedRef(op.getOperand(0))) {
    p.setPackedRef(op.getResult(0), *packed);
    return {};
  }
  if (!p.hasRef(op.getOperand(0))) return unsupported(kUnknownRef);
  p.setRef(op.getResult(0), MemoryView(p.ref(op.getOperand(0))));
  return {};
}

NativeResult planMemorySpaceIs(BodyPlanner& p, mlir::Operation& op) {
  p.integers.set(op.getResult(0), llvm::cast<tpu::MemRefMemorySpaceIsOp>(op).holds() ? -1 : 0);
  return {};
}

NativeResult planAllocation(BodyPlanner& p, mlir::Operation& op) {
  auto type = llvm::cast<mlir::MemRefType>(op.getResult(0).getType());
  p.setRef(op.getResult(0), p.newMemory(BodyPlanner::allocate(elementDType(type), shapeOf(type))));
  return {};
}

NativeResult planAtomic(BodyPlanner& p, mlir::Operation& op) {
  auto atomic = llvm::cast<tpu::AtomicOp>(op);
  if (!p.hasRef(atomic.getBase()) || p.ref(atomic.getBase()).dynamic())
    return unsupported("an atomic update of a ref that native code does not follow");
  p.flush();
  for (const mlir::Value v : {atomic.getValue(), atomic.getExpected()})
    if (v && isVector(v)) p.view(v);
  const mlir::Value result = atomic.getResult();
  if (isVector(result) && !result.use_empty())
    p.setView(result, BodyPlanner::allocate(elementDType(result.getType()), shapeOf(result.getType())));
  return {};
}

constexpr std::array<PlanOpRow, 16> kMemoryTable{{
    {"tpu.atomic", planAtomic},
    {"vector.load", planVectorLoad},
    {"tpu.strided_load", planVectorLoad},
    {"memref.load", planScalarLoad},
    {"memref.store", planScalarStore},
    {"tpu.vector_store", planVectorStore},
    {"tpu.strided_store", planStore},
    {"vector.store", planStore},
    {"tpu.memref_slice", planSliceRef},
    {"tpu.memref_squeeze", planReshapeRef},
    {"tpu.memref_reshape", planReshapeRef},
    {"tpu.memref_bitcast", planReshapeRef},
    {"tpu.annotate", planAnnotate},
    {"tpu.memref_memory_space_is", planMemorySpaceIs},
    {"memref.alloca", planAllocation},
    {"tpu.sem_alloc", planAllocation},
}};

}  // namespace

tl::expected<MemoryView, Unsupported> planStoreBox(BodyPlanner& p, mlir::Operation& op) {
  auto store = llvm::dyn_cast<tpu::VectorStoreOp>(op);
  if (!store) return unsupported("a store of an unknown form");
  if (auto why = unsupportedForm(op)) return unsupported(std::move(*why));
  const mlir::Value value = store.getValueToStore();
  return boxOf(p, op, store.getBase(), store.getIndices(), shapeOf(value.getType()), false);
}

std::span<const PlanOpRow> plannedMemoryOps() { return kMemoryTable; }

}  // namespace smalti::cpu
