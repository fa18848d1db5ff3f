// Copies and semaphores on one device. A copy is complete when it has started, and its semaphores count at once. A wait
// that would block ends the call; the abstract machine runs the kernel again and reports the deadlock.
#include <array>

#include "gpu/emit/GpuLowering.h"
#include "gpu/emit/ops/Packed.h"
#include "ir/facts/OperandSegments.h"

namespace smalti::gpu {
namespace {

const llvm::Align kCountAlign(8);

const View* refOf(GpuLowering& l, mlir::Value v) { return v && l.hasRef(v) ? &l.ref(v) : nullptr; }
/// The 64-bit count of one semaphore; null: `v` is not one semaphore.
std::optional<View> semaphoreOf(GpuLowering& l, mlir::Value v) {
  const View* view = refOf(l, v);
  if (!view || view->dynamic() || !is_semaphore(view->dtype) || view->elements() != 1) return std::nullopt;
  return *view;
}

Reg countOf(GpuLowering& l, const View& semaphore) {
  l.touch({semaphore.memory}, {});
  return l.b.CreateAlignedLoad(l.b.getInt64Ty(), semaphore.base, kCountAlign);
}
void setCount(GpuLowering& l, const View& semaphore, Reg count) {
  l.touch({}, {semaphore.memory});
  l.byOneThread([&] { l.b.CreateAlignedStore(count, semaphore.base, kCountAlign); });
}
void addToCount(GpuLowering& l, const View& semaphore, Reg amount) {
  l.touch({}, {semaphore.memory});
  l.byOneThread([&] {
    Reg count = l.b.CreateAlignedLoad(l.b.getInt64Ty(), semaphore.base, kCountAlign);
    l.b.CreateAlignedStore(l.b.CreateAdd(count, amount), semaphore.base, kCountAlign);
  });
}

void wait(GpuLowering& l, const View& semaphore, Reg amount) {
  Reg count = countOf(l, semaphore);
  l.require(l.b.CreateICmpSGE(count, amount));
  setCount(l, semaphore, l.b.CreateSub(count, amount));
}

/// The id must be that of this device or core, since there is no other.
NativeResult requireSelf(GpuLowering& l, mlir::Value id) {
  if (!id) return {};
  Reg r = l.scalar(id);
  if (!r) return unsupported("a device or core that device code does not follow");
  Reg isSelf = l.b.CreateICmpEQ(r, llvm::Constant::getNullValue(r->getType()));
  if (constantOf(isSelf) == 0) return unsupported("a copy to another device or core, or a signal");
  l.require(isSelf);
  return {};
}

Reg wide(GpuLowering& l, mlir::Value v) {
  Reg r = v ? l.scalar(v) : nullptr;
  return r ? l.b.CreateSExtOrTrunc(r, l.b.getInt64Ty()) : nullptr;
}

NativeResult lowerSemaphoreRead(GpuLowering& l, mlir::Operation& op) {
  const auto semaphore = semaphoreOf(l, op.getOperand(0));
  if (!semaphore) return unsupported("a semaphore that device code does not follow");
  l.setScalar(op.getResult(0), l.b.CreateTrunc(countOf(l, *semaphore), l.b.getInt32Ty()));
  return {};
}

NativeResult lowerSemaphoreWait(GpuLowering& l, mlir::Operation& op) {
  const auto semaphore = semaphoreOf(l, op.getOperand(0));
  Reg amount = wide(l, op.getOperand(1));
  if (!semaphore || !amount) return unsupported("a semaphore that device code does not follow");
  wait(l, *semaphore, amount);
  return {};
}

/// Segments: semaphore, amount, device_id, core_id, subcore_id.
NativeResult lowerSemaphoreSignal(GpuLowering& l, mlir::Operation& op) {
  const OperandSegments s(op);
  const auto semaphore = semaphoreOf(l, s[0]);
  Reg amount = wide(l, s[1]);
  if (!semaphore || !amount || s[4]) return unsupported("a semaphore that device code does not follow");
  if (auto ok = requireSelf(l, s[2]); !ok) return ok;
  if (auto ok = requireSelf(l, s[3]); !ok) return ok;
  addToCount(l, *semaphore, amount);
  return {};
}

// ---- copies

/// What a copy of the view adds to the semaphore: its bytes for a DMA semaphore, 1 for a regular one.
Reg credit(GpuLowering& l, const View& semaphore, const View& copied) {
  if (semaphore.dtype != DType::dma_semaphore) return l.index(1);
  Reg n = l.index(1);
  for (size_t d = 0; d < copied.shape.size(); ++d) n = l.b.CreateMul(n, cpu::extent(l.b, copied, d));
  return l.b.CreateUDiv(l.b.CreateMul(n, l.index(bit_width(copied.dtype))), l.index(8));
}

void move(GpuLowering& l, const View& from, const View& to) {
  Builder& b = l.b;
  llvm::Type* type = cpu::storageType(b.getContext(), to.dtype);
  const llvm::Align align(static_cast<uint64_t>(storage_bytes(to.dtype)));
  const bool reaches = from.extendsPast() || to.extendsPast();
  std::vector<Reg> sizes;
  for (size_t d = 0; d < to.shape.size(); ++d) sizes.push_back(cpu::extent(b, to, d));
  l.touch({from.memory}, {to.memory});
  const auto copyElement = [&](const ElementIndex& at) {
    b.CreateAlignedStore(b.CreateAlignedLoad(type, cpu::elementPointer(b, from, at), align),
                         cpu::elementPointer(b, to, at), align);
  };
  l.forElements(sizes, [&](const ElementIndex& at) {
    if (!reaches) return copyElement(at);
    // Elements past the end of an array do not exist; those that exist only in the target become undefined.
    Reg inSource = b.getTrue(), inTarget = b.getTrue();
    for (size_t d = 0; d < at.size(); ++d) {
      inSource = b.CreateAnd(inSource, b.CreateICmpULT(at[d], cpu::presentExtent(b, from, d)));
      inTarget = b.CreateAnd(inTarget, b.CreateICmpULT(at[d], cpu::presentExtent(b, to, d)));
    }
    l.when(b.CreateAnd(inSource, inTarget), [&] { copyElement(at); });
    l.when(b.CreateAnd(b.CreateNot(inSource), inTarget), [&] {
      cpu::storeElements(b, to.dtype, cpu::undefinedElement(b, to.dtype, l.poison), cpu::elementPointer(b, to, at), 1);
    });
  });
}

NativeResult copyElements(GpuLowering& l, const View& source, const View& target) {
  if (storage_bytes(source.dtype) != storage_bytes(target.dtype) || is_semaphore(target.dtype))
    return unsupported("a copy between dtypes of different widths");
  const View from = cpu::withoutUnitDims(source), to = cpu::withoutUnitDims(target);
  if (from.shape.size() != to.shape.size()) return unsupported("a copy that reshapes");
  for (size_t d = 0; d < from.shape.size(); ++d) {
    if (!from.dynamic() && !to.dynamic() && from.shape[d] != to.shape[d]) return unsupported("a copy that reshapes");
    l.require(l.b.CreateICmpEQ(cpu::extent(l.b, from, d), cpu::extent(l.b, to, d)));
  }
  if (auto ok = l.keepLoads(target.memory); !ok) return ok;
  if (from.memory != to.memory) {
    move(l, from, to);
    return {};
  }
  // They may overlap, so all elements are read before any is written.
  if (from.dynamic() || to.dynamic() || from.extendsPast() || to.extendsPast())
    return unsupported("a copy of a dynamic size inside of one array");
  const View temporary = l.allocate(from.dtype, from.shape);
  move(l, from, temporary);
  move(l, temporary, to);
  l.hazards.markReusable(temporary.memory);
  return {};
}

/// The source or target of a copy; nullopt: device code does not follow it.
std::optional<cpu::PackedView> sideOf(GpuLowering& l, mlir::Value v) {
  if (!v) return std::nullopt;
  if (const cpu::PackedView* packed = l.packedRef(v)) return packed->fold > 1 ? std::nullopt : std::optional(*packed);
  return l.hasRef(v) ? std::optional(cpu::unpacked(l.ref(v))) : std::nullopt;
}

/// A view with the number of bytes that a copy through it adds to a semaphore.
View copiedBytes(const cpu::PackedView& v) {
  View out = v.cells;
  out.dtype = v.dtype;
  return out;
}

/// A copy between refs, at least one of which accesses memory as elements of another width.
NativeResult copyBits(GpuLowering& l, const cpu::PackedView& source, const cpu::PackedView& target) {
  if (source.cells.extendsPast() || target.cells.extendsPast())
    return unsupported("a copy past the end of an array through a bitcast of a ref to another width");
  const cpu::PackedView from = cpu::withoutUnitDims(source), to = cpu::withoutUnitDims(target);
  const Shape &has = from.cells.shape, &needs = to.cells.shape;
  if (bit_width(from.dtype) != bit_width(to.dtype)) return unsupported("a copy between dtypes of different widths");
  if (has.size() != needs.size()) return unsupported("a copy that reshapes");
  for (size_t d = 0; d < has.size(); ++d) {
    if (!from.cells.dynamic() && !to.cells.dynamic() && has[d] != needs[d]) return unsupported("a copy that reshapes");
    l.require(l.b.CreateICmpEQ(cpu::extent(l.b, from.cells, d), cpu::extent(l.b, to.cells, d)));
  }
  if (auto ok = l.keepLoads(to.cells.memory); !ok) return ok;
  if (from.cells.memory != to.cells.memory) {
    copyPacked(l, from, to);
    return l.status;
  }
  // They may overlap, so all elements are read before any is written.
  if (from.cells.dynamic() || to.cells.dynamic()) return unsupported("a copy of a dynamic size inside of one array");
  const View temporary = gatherPacked(l, from);
  copyPacked(l, cpu::unpacked(temporary), to);
  l.hazards.markReusable(temporary.memory);
  return l.status;
}

/// Segments: source, source_semaphore, target, target_semaphore, device_id, core_id, subcore_id.
NativeResult lowerEnqueue(GpuLowering& l, mlir::Operation& op) {
  const OperandSegments s(op);
  const auto source = sideOf(l, s[0]), target = sideOf(l, s[2]);
  const auto arrived = semaphoreOf(l, s[3]), sent = semaphoreOf(l, s[1]);
  if (!source || !target || !arrived || (s[1] && !sent) || s[6])
    return unsupported("a copy that device code does not follow");
  if (auto ok = requireSelf(l, s[4]); !ok) return ok;
  if (auto ok = requireSelf(l, s[5]); !ok) return ok;
  const bool plain = l.hasRef(s[0]) && l.hasRef(s[2]);
  if (auto ok = plain ? copyElements(l, source->cells, target->cells) : copyBits(l, *source, *target); !ok) return ok;
  const View copied = copiedBytes(*source);
  addToCount(l, *arrived, credit(l, *arrived, copied));
  if (sent) addToCount(l, *sent, credit(l, *sent, copied));
  return {};
}

/// Segments as for enqueue_dma. `wait_target`: waits until the target has arrived, otherwise until the source has been
/// sent.
NativeResult lowerWaitDma(GpuLowering& l, mlir::Operation& op) {
  const OperandSegments s(op);
  const bool target = !op.hasAttr("wait_target") || boolAttribute(op, "wait_target");
  const auto semaphore = semaphoreOf(l, s[target ? 3 : 1]);
  const auto awaited = sideOf(l, s[target ? 2 : 0]);
  if (!semaphore || !awaited) return unsupported("a copy that device code does not follow");
  wait(l, *semaphore, credit(l, *semaphore, copiedBytes(*awaited)));
  return {};
}

// ---- allocations

NativeResult lowerSemaphoreAlloc(GpuLowering& l, mlir::Operation& op) {
  auto type = llvm::cast<mlir::MemRefType>(op.getResult(0).getType());
  const DType t = elementDType(type);
  if (!type.hasStaticShape() || !is_semaphore(t)) return unsupported("an allocation of a dynamic size");
  l.setRef(op.getResult(0), l.allocateUndefined(t, t, shapeOf(type)));
  return {};
}

NativeResult lowerBarrier(GpuLowering& l, mlir::Operation& op) {
  l.setRef(op.getResult(0), l.barrier);
  return {};
}

/// The id of the only core.
NativeResult lowerZero(GpuLowering& l, mlir::Operation& op) {
  l.setScalar(op.getResult(0), l.b.getInt32(0));
  return {};
}

constexpr std::array<GpuOpRow, 8> kSyncTable{{
    {"tpu.core_id", lowerZero},
    {"tpu.enqueue_dma", lowerEnqueue},
    {"tpu.sem_alloc", lowerSemaphoreAlloc},
    {"tpu.sem_barrier", lowerBarrier},
    {"tpu.sem_read", lowerSemaphoreRead},
    {"tpu.sem_signal", lowerSemaphoreSignal},
    {"tpu.sem_wait", lowerSemaphoreWait},
    {"tpu.wait_dma", lowerWaitDma},
}};

}  // namespace

std::span<const GpuOpRow> syncOps() { return kSyncTable; }

}  // namespace smalti::gpu
