// Loads and stores. Emitted code checks the bounds of accesses that cannot be proved to be inside their ref.
#include <array>

#include "cpu/emit/Sizes.h"
#include "gpu/emit/Bits.h"
#include "gpu/emit/RowStore.h"
#include "gpu/emit/ops/Packed.h"
#include "ir/TpuOpsMemory.h"
#include "ir/facts/AccessBox.h"
#include "llvm/IR/MDBuilder.h"

namespace smalti::gpu {
namespace {

using tpu::MemorySpace;

NativeResult checkSpace(mlir::Value ref, bool scalar) {
  auto type = llvm::dyn_cast<mlir::MemRefType>(ref.getType());
  const auto space = type ? tpu::memorySpaceOf(type) : std::nullopt;
  if (!space) return unsupported("a ref of an unknown memory space");
  if (*space == MemorySpace::vmem || (*space == MemorySpace::smem && scalar)) return {};
  return unsupported("a load or store that the machine refuses");
}

/// The box of a ref that an op accesses, with its start at run time.
struct LocatedBox {
  AccessBox box;
  std::vector<Reg> starts;
  Reg isInside = nullptr;  ///< of the ref
};

/// The box that an op accesses in a ref of that shape.
tl::expected<LocatedBox, cpu::Unsupported> located(GpuLowering& l, mlir::Operation& op, const View& whole,
                                                   mlir::ValueRange indices, const Shape& valueShape) {
  const auto box = accessBoxOf(op, whole.shape.size(), indices.size(), valueShape);
  if (!box) return unsupported(box.error());
  LocatedBox located{*box, {}, l.b.getTrue()};
  for (size_t d = 0; d < indices.size(); ++d) {
    Reg start = l.scalar(indices[d]);
    if (!start) return unsupported("an index that device code does not follow");
    located.starts.push_back(start);
    if (!box->isEmpty())
      located.isInside =
          l.b.CreateAnd(located.isInside, cpu::fits(l.b, start, l.index(box->span(d)), cpu::extent(l.b, whole, d)));
  }
  return located;
}

/// The same; a box that is not inside ends the call.
tl::expected<LocatedBox, cpu::Unsupported> boundsOf(GpuLowering& l, mlir::Operation& op, const View& whole,
                                                    mlir::ValueRange indices, const Shape& valueShape) {
  auto box = located(l, op, whole, indices, valueShape);
  if (box) l.require(box->isInside);
  return box;
}

/// The box that an op accesses as a view of the value's shape.
tl::expected<View, cpu::Unsupported> boxOf(GpuLowering& l, mlir::Operation& op, mlir::Value ref,
                                           mlir::ValueRange indices, const Shape& valueShape, bool scalar) {
  if (auto ok = checkSpace(ref, scalar); !ok) return tl::unexpected(ok.error());
  if (!l.hasRef(ref)) return unsupported("a ref that device code does not follow");
  const View& whole = l.ref(ref);
  auto bounds = boundsOf(l, op, whole, indices, valueShape);
  if (!bounds) return tl::unexpected(bounds.error());
  View box = cpu::slice(l.b, whole, bounds->starts, bounds->box.sizes, bounds->box.steps);
  if (scalar) return box;
  auto shaped = cpu::reshape(l.b, box, valueShape);
  if (!shaped) return unsupported("a load or store that reshapes");
  return *shaped;
}

/// Like boxOf, for a ref that accesses memory as elements of another width.
tl::expected<cpu::PackedView, cpu::Unsupported> packedBoxOf(GpuLowering& l, mlir::Operation& op, mlir::Value ref,
                                                            mlir::ValueRange indices, const Shape& valueShape,
                                                            bool scalar) {
  if (auto ok = checkSpace(ref, scalar); !ok) return tl::unexpected(ok.error());
  const cpu::PackedView& whole = *l.packedRef(ref);
  auto bounds = boundsOf(l, op, whole.cells, indices, valueShape);
  if (!bounds) return tl::unexpected(bounds.error());
  if (!whole.hasSlice(bounds->box.sizes, bounds->box.steps)) return unsupported(cpu::kFoldedRows);
  cpu::PackedView box = cpu::slice(l.b, whole, bounds->starts, bounds->box.sizes, bounds->box.steps);
  box.cells.sizes.clear();
  auto shaped = cpu::reshape(l.b, box, valueShape);
  if (!shaped) return unsupported("a load or store that reshapes");
  return *shaped;
}

NativeResult lowerPackedLoad(GpuLowering& l, mlir::Operation& op) {
  const bool scalar = !isVector(op.getResult(0));
  const Shape shape = scalar ? Shape{} : shapeOf(op.getResult(0).getType());
  auto box = packedBoxOf(l, op, op.getOperand(0), op.getOperands().drop_front(), shape, scalar);
  if (!box) return tl::unexpected(box.error());
  if (l.liveness().dead(&op)) return {};
  View value = gatherPacked(l, *box);
  if (scalar) {
    l.touch({value.memory}, {});
    l.setScalar(op.getResult(0), cpu::loadElements(l.b, value.dtype, value.base, 1));
    l.hazards.markReusable(value.memory);
  } else {
    l.setView(op.getResult(0), std::move(value));
  }
  return l.status;
}

NativeResult lowerVectorLoad(GpuLowering& l, mlir::Operation& op) {
  if (l.packedRef(op.getOperand(0))) return lowerPackedLoad(l, op);
  auto box = boxOf(l, op, op.getOperand(0), op.getOperands().drop_front(), shapeOf(op.getResult(0).getType()), false);
  if (!box) return tl::unexpected(box.error());
  if (!l.liveness().dead(&op)) l.defer(op, std::move(*box));
  return {};
}

/// Outside the ref the value is undefined, as kernels expect that look one element too far and discard it.
NativeResult lowerScalarLoad(GpuLowering& l, mlir::Operation& op) {
  if (l.packedRef(op.getOperand(0))) return lowerPackedLoad(l, op);
  const mlir::Value ref = op.getOperand(0);
  if (auto ok = checkSpace(ref, true); !ok) return ok;
  if (!l.hasRef(ref)) return unsupported("a ref that device code does not follow");
  const View whole = l.ref(ref);
  auto box = located(l, op, whole, op.getOperands().drop_front(), {});
  if (!box) return tl::unexpected(box.error());
  const bool isDead = l.liveness().dead(&op), isKnown = constantOf(box->isInside).value_or(0) != 0;
  if (isDead && isKnown) return {};
  const auto load = [&]() -> Reg {
    const View at = cpu::slice(l.b, whole, box->starts, box->box.sizes, box->box.steps);
    return cpu::loadElements(l.b, at.dtype, at.base, 1);
  };
  if (!isDead) l.touch({whole.memory}, {});
  if (isKnown) {
    l.setScalar(op.getResult(0), load());
    return {};
  }
  Builder& b = l.b;
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, l.function); };
  auto *inside = block("inside"), *outside = block("outside"), *after = block("loaded");
  Reg undefined = isDead ? nullptr : cpu::undefinedElement(b, whole.dtype, l.poison);
  b.CreateCondBr(box->isInside, inside, outside, llvm::MDBuilder(b.getContext()).createLikelyBranchWeights());
  b.SetInsertPoint(inside);
  Reg value = isDead ? nullptr : load();
  inside = b.GetInsertBlock();
  b.CreateBr(after);
  b.SetInsertPoint(outside);
  l.note(KernelStatus::readOutside);
  b.CreateBr(after);
  b.SetInsertPoint(after);
  if (isDead) return {};
  auto* either = b.CreatePHI(value->getType(), 2);
  either->addIncoming(value, inside);
  either->addIncoming(undefined, outside);
  l.setScalar(op.getResult(0), either);
  return {};
}

/// Stores through a ref that accesses memory as elements of another width; other elements of a shared stored element
/// keep their values.
NativeResult storePacked(GpuLowering& l, mlir::Operation& op, mlir::Value value, mlir::Value ref,
                         mlir::ValueRange indices, mlir::Value mask) {
  if (boolAttribute(op, "add")) return unsupported("a store that adds through a bitcast of a ref to another width");
  const bool scalar = !isVector(value);
  const Shape shape = scalar ? Shape{} : shapeOf(value.getType());
  auto box = packedBoxOf(l, op, ref, indices, shape, scalar);
  if (!box) return tl::unexpected(box.error());
  if (auto ok = l.keepLoads(box->cells.memory); !ok) return ok;
  MemorySet reads = l.reads(value);
  if (mask) {
    const MemorySet more = l.reads(mask);
    reads.insert(more.begin(), more.end());
  }
  scatterPacked(
      l, *box, reads,
      [&](const ElementIndex& at) -> Reg {
        Reg r = l.element(value, at);
        return r ? bitsOf(l.b, box->dtype, r) : nullptr;
      },
      mask ? [&](const ElementIndex& at) { return l.element(mask, at); } : std::function<Reg(const ElementIndex&)>());
  return l.status;
}

NativeResult lowerScalarStore(GpuLowering& l, mlir::Operation& op) {
  if (l.packedRef(op.getOperand(1)))
    return storePacked(l, op, op.getOperand(0), op.getOperand(1), op.getOperands().drop_front(2), {});
  auto box = boxOf(l, op, op.getOperand(1), op.getOperands().drop_front(2), {}, true);
  if (!box) return tl::unexpected(box.error());
  if (auto ok = l.keepLoads(box->memory); !ok) return ok;
  Reg value = l.scalar(op.getOperand(0));
  if (!value) return unsupported("a scalar that device code does not follow");
  l.touch({}, {box->memory});
  l.byOneThread([&] { cpu::storeElements(l.b, box->dtype, value, box->base, 1); });
  return {};
}

/// Stores a value in registers to memory, or to a ref in registers (`to`). The plan excludes masks and stores that add
/// (plan/RegisterPlan.h).
NativeResult storeFragment(GpuLowering& l, mlir::Value value, const View& box, const Distribution& from,
                           const GpuLowering::Fragment* to) {
  const GpuLowering::Fragment* is = l.fragment(value);
  if (to && is && is->sums == to->sums) return {};
  l.touch(l.reads(value), {box.memory});
  if (!to && storeInRows(l, value, box, from)) return l.status;
  const std::optional<GpuLowering::Fragment> kept = to ? std::optional(*to) : std::nullopt;
  const auto beyond = kept ? GpuLowering::RowsBeyond::repeatLast : GpuLowering::RowsBeyond::skip;
  l.forDistributed(from, box.shape, beyond, [&](const ElementIndex& at) {
    Reg r = l.element(value, at);
    if (!r) return;
    if (kept) return l.setElement(*kept, r);
    const auto write = [&] { cpu::storeElements(l.b, box.dtype, r, cpu::elementPointer(l.b, box, at), 1); };
    if (from.perRow)
      l.when(l.storesRows(), write);
    else
      write();
  });
  return l.status;
}

NativeResult store(GpuLowering& l, mlir::Operation& op, mlir::Value value, mlir::Value ref, mlir::ValueRange indices,
                   mlir::Value mask) {
  const DType kept = elementDType(ref.getType());
  if (elementDType(value.getType()) != kept) return unsupported("a store that changes the element type");
  if (l.packedRef(ref)) return storePacked(l, op, value, ref, indices, mask);
  auto box = boxOf(l, op, ref, indices, shapeOf(value.getType()), false);
  if (!box) return tl::unexpected(box.error());
  const bool adds = boolAttribute(op, "add");
  if (adds && !cpu::computesNatively(kept)) return unsupported("a store that adds narrow elements");
  if (auto ok = l.keepLoads(box->memory, &op, &*box, value); !ok) return ok;
  if (mask)
    if (auto ok = l.keepLoads(box->memory, &op, &*box, mask); !ok) return ok;
  const GpuLowering::Fragment* to = l.registersOfMemory(box->memory);
  if (const auto from = to ? std::optional(to->distribution) : l.distributionUnder(value))
    return storeFragment(l, value, *box, *from, to);
  MemorySet reads = l.reads(value);
  if (mask) {
    const MemorySet more = l.reads(mask);
    reads.insert(more.begin(), more.end());
  }
  // An element that is read and written at the same place is accessed by one thread only.
  if (!l.readsElsewhere(value, box->memory) && !(mask && l.readsElsewhere(mask, box->memory))) reads.erase(box->memory);
  l.touch(reads, {box->memory});
  if (!mask && !adds) {
    l.forRuns(box->shape, [&](std::span<const ElementIndex> run) { l.storeRun(value, *box, run); });
    return l.status;
  }
  l.forElements(box->shape, [&](const ElementIndex& at) {
    const auto write = [&] {
      Reg r = l.element(value, at);
      if (!r) return;
      Reg place = cpu::elementPointer(l.b, *box, at);
      if (adds) {
        Reg old = cpu::loadElements(l.b, kept, place, 1);
        r = cpu::roundTo(l.b, kept, r->getType()->isFloatingPointTy() ? l.b.CreateFAdd(old, r) : l.b.CreateAdd(old, r));
      }
      cpu::storeElements(l.b, kept, r, place, 1);
    };
    Reg condition = mask ? l.element(mask, at) : nullptr;
    if (condition)
      l.when(condition, write);
    else
      write();
  });
  return l.status;
}

NativeResult lowerVectorStore(GpuLowering& l, mlir::Operation& op) {
  const auto segments = integersAttribute(op, "operandSegmentSizes");
  if (segments.size() != 4) return unsupported("a store of an unknown form");
  const auto rank = static_cast<unsigned>(segments[2]);
  return store(l, op, op.getOperand(0), op.getOperand(1), op.getOperands().slice(2, rank),
               segments[3] == 1 ? op.getOperand(op.getNumOperands() - 1) : mlir::Value());
}

NativeResult lowerStore(GpuLowering& l, mlir::Operation& op) {
  return store(l, op, op.getOperand(0), op.getOperand(1), op.getOperands().drop_front(2), {});
}

constexpr std::array<GpuOpRow, 7> kMemoryTable{{
    {"vector.load", lowerVectorLoad},
    {"tpu.strided_load", lowerVectorLoad},
    {"memref.load", lowerScalarLoad},
    {"memref.store", lowerScalarStore},
    {"tpu.vector_store", lowerVectorStore},
    {"tpu.strided_store", lowerStore},
    {"vector.store", lowerStore},
}};

}  // namespace

std::span<const GpuOpRow> memoryOps() { return kMemoryTable; }

}  // namespace smalti::gpu
