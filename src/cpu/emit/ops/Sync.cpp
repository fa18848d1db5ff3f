// DMA and semaphores: the semaphores of a copy count at once. The copy itself happens when it starts, or another thread
// executes it until the kernel waits for its semaphore (runtime/AsyncCopies.h). On one device a wait that would
// block ends the call with a fault; the machine then runs the kernel again and reports the deadlock. With several
// devices, each device has a thread, which waits; a deadlock ends the call (runtime/Devices.h).
#include <array>

#include "cpu/emit/ops/HazardChecks.h"
#include "cpu/emit/ops/OpTables.h"
#include "cpu/emit/ops/PackedAccess.h"
#include "cpu/runtime/AsyncCopies.h"
#include "cpu/runtime/Devices.h"
#include "ir/facts/OperandSegments.h"
#include "llvm/IR/Module.h"

namespace smalti::cpu {
namespace {

const llvm::Align kCountAlign(8);

/// The result of a run-time function whose first argument is the context.
Reg callRuntime(NativeLowering& l, const char* name, llvm::Type* result, llvm::ArrayRef<Reg> arguments) {
  std::vector<Reg> values{l.context};
  values.insert(values.end(), arguments.begin(), arguments.end());
  std::vector<llvm::Type*> types;
  for (Reg v : values) types.push_back(v->getType());
  return l.b.CreateCall(l.module.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false)), values);
}

Reg countOf(NativeLowering& l, const View& semaphore) {
  return l.b.CreateAlignedLoad(l.b.getInt64Ty(), semaphore.base, kCountAlign);
}
void setCount(NativeLowering& l, const View& semaphore, Reg count) {
  l.b.CreateAlignedStore(count, semaphore.base, kCountAlign);
}
/// Adds to a semaphore of this device. No thread needs to be woken, since only the thread of this device waits for it.
void addToCount(NativeLowering& l, const View& semaphore, Reg amount) {
  if (l.options.devices)
    l.b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, semaphore.base, amount, kCountAlign,
                        llvm::AtomicOrdering::AcquireRelease);
  else
    setCount(l, semaphore, l.b.CreateAdd(countOf(l, semaphore), amount));
}

/// Copies that raise the semaphore (a pointer; null: all) are complete afterwards.
void finishCopies(NativeLowering& l, Reg semaphore) {
  if (l.plan.copiesLater) callRuntime(l, kCopyFinishSymbol, l.b.getVoidTy(), {semaphore});
}
/// Before a copy that does not join the others.
void finishAllCopies(NativeLowering& l) { finishCopies(l, llvm::ConstantPointerNull::get(l.b.getPtrTy())); }

void wait(NativeLowering& l, const View& semaphore, Reg amount) {
  if (l.options.devices) {
    // Other devices may change memory meanwhile.
    Reg ended = callRuntime(l, kWaitSymbol, l.b.getInt32Ty(), {semaphore.base, amount});
    l.require(l.b.CreateICmpEQ(ended, l.b.getInt32(0)));
    return;
  }
  finishCopies(l, semaphore.base);
  Reg count = countOf(l, semaphore);
  l.require(l.b.CreateICmpSGE(count, amount));
  setCount(l, semaphore, l.b.CreateSub(count, amount));
}

Reg wideId(NativeLowering& l, Reg device) { return l.b.CreateSExtOrTrunc(device, l.b.getInt64Ty()); }
void requireDone(NativeLowering& l, Reg status) { l.require(l.b.CreateICmpEQ(status, l.b.getInt32(0))); }

/// The same place on another device.
View onDevice(NativeLowering& l, View here, Reg device) {
  here.base = callRuntime(l, kPeerSymbol, l.b.getPtrTy(), {wideId(l, device), here.base});
  l.require(l.b.CreateIsNotNull(here.base));
  here.memory = l.newMemory();
  return here;
}

/// The id, if there is one, must be that of this device or core: there is no other. LLVM may know of an id that it is
/// another one where the plan does not.
NativeResult requireSelf(NativeLowering& l, mlir::Value id) {
  if (!id) return {};
  Reg r = l.scalar(id);
  Reg isSelf = l.b.CreateICmpEQ(r, llvm::Constant::getNullValue(r->getType()));
  if (constantOf(isSelf) == 0) return unsupported(kOtherDevice);
  l.require(isSelf);
  return {};
}

Reg wide(NativeLowering& l, mlir::Value v) { return l.b.CreateSExtOrTrunc(l.scalar(v), l.b.getInt64Ty()); }

NativeResult lowerSemaphoreRead(NativeLowering& l, mlir::Operation& op) {
  const View& semaphore = l.ref(op.getOperand(0));
  Reg count = nullptr;
  if (l.options.devices) {  // the kernel may poll it until another device has raised it
    count = callRuntime(l, kReadSymbol, l.b.getInt64Ty(), {semaphore.base});
    l.require(l.b.CreateICmpNE(count, l.index(INT64_MIN)));
  } else {
    finishCopies(l, semaphore.base);
    count = countOf(l, semaphore);
  }
  l.setScalar(op.getResult(0), l.b.CreateTrunc(count, l.b.getInt32Ty()));
  return {};
}

NativeResult lowerSemaphoreWait(NativeLowering& l, mlir::Operation& op) {
  const View& semaphore = l.ref(op.getOperand(0));
  Reg amount = wide(l, op.getOperand(1));
  wait(l, semaphore, amount);
  trackCopyWait(l, op, nullptr, semaphore, amount);
  return {};
}

/// Segments: semaphore, amount, device_id, core_id, subcore_id.
NativeResult lowerSemaphoreSignal(NativeLowering& l, mlir::Operation& op) {
  const OperandSegments s(op);
  const View& semaphore = l.ref(s[0]);
  Reg amount = wide(l, s[1]);
  if (auto ok = requireSelf(l, s[3]); !ok) return ok;
  if (l.options.devices && s[2]) {
    // Earlier writes must be visible to a thread that sees the count.
    Reg device = wideId(l, l.scalar(s[2]));
    requireDone(l, callRuntime(l, kSignalSymbol, l.b.getInt32Ty(), {device, semaphore.base, amount}));
    return {};
  }
  if (auto ok = requireSelf(l, s[2]); !ok) return ok;
  addToCount(l, semaphore, amount);
  return {};
}

// ---- copies

/// The bytes that a copy of the view adds to a DMA semaphore.
Reg dmaBytes(NativeLowering& l, const View& view) {
  Reg n = l.index(1);
  for (size_t d = 0; d < view.shape.size(); ++d) n = l.b.CreateMul(n, extent(l.b, view, d));
  return l.b.CreateUDiv(l.b.CreateMul(n, l.index(bit_width(view.dtype))), l.index(8));
}
/// A DMA semaphore counts bytes, a regular one copies.
Reg credit(NativeLowering& l, const View& semaphore, Reg bytes) {
  return semaphore.dtype == DType::dma_semaphore ? bytes : l.index(1);
}

/// The first of the trailing dimensions that form one run of contiguous elements in both views: static ones, preceded
/// by at most one dimension of dynamic size.
size_t firstOfRun(NativeLowering& l, const View& from, const View& to) {
  size_t first = to.shape.size();
  int64_t run = 1;
  for (bool fixed = true;
       first > 0 && fixed && constantOf(from.strides[first - 1]) == run && constantOf(to.strides[first - 1]) == run;
       --first) {
    const auto size = constantOf(extent(l.b, to, first - 1));
    fixed = size.has_value();
    if (fixed) run *= *size;
  }
  return first;
}

/// The bytes of the elements in the dimensions from `first` on.
Reg bytesFrom(NativeLowering& l, const View& view, size_t first) {
  Reg elements = l.index(1);
  for (size_t d = first; d < view.shape.size(); ++d) elements = l.b.CreateMul(elements, extent(l.b, view, d));
  return l.b.CreateMul(elements, l.index(storage_bytes(view.dtype)));
}

/// Copies runs of elements that are contiguous in both views; sizes may be known only at run time.
void copyRuns(NativeLowering& l, const View& from, const View& to) {
  Builder& b = l.b;
  const size_t rank = to.shape.size(), first = firstOfRun(l, from, to);
  const llvm::Align align(static_cast<uint64_t>(storage_bytes(to.dtype)));
  Reg size = bytesFrom(l, to, first);
  std::vector<Reg> at(rank, l.index(0));
  std::function<void(size_t)> walk = [&](size_t d) {
    if (d == first) {
      if (rank == first) {
        llvm::Type* type = storageType(b.getContext(), to.dtype);
        b.CreateAlignedStore(b.CreateAlignedLoad(type, elementPointer(b, from, at), align), elementPointer(b, to, at),
                             align);
      } else {
        b.CreateMemMove(elementPointer(b, to, at), align, elementPointer(b, from, at), align, size);
      }
      return;
    }
    l.loop(l.index(0), extent(b, to, d), l.index(1), [&](Reg i) {
      at[d] = i;
      walk(d + 1);
      at[d] = l.index(0);
    });
  };
  walk(0);
}

/// The same, until the kernel waits for the semaphore `later` if that is not null; then the views do not overlap.
void copyRuns(NativeLowering& l, const View& from, const View& to, const View* later) {
  Builder& b = l.b;
  const size_t first = firstOfRun(l, from, to);
  if (!later || !l.plan.copiesLater || first > Copy::kMaxRank) {
    finishAllCopies(l);
    return copyRuns(l, from, to);
  }
  static_assert(sizeof(Copy) == (3 + 3 * Copy::kMaxRank) * sizeof(int64_t));
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::Type* type = llvm::ArrayType::get(b.getInt64Ty(), 3 + 3 * Copy::kMaxRank);
  Reg copy = Builder(&entry, entry.begin()).CreateAlloca(type);
  const auto set = [&](size_t i, Reg value) { b.CreateStore(value, b.CreateConstInBoundsGEP2_64(type, copy, 0, i)); };
  set(0, to.base);
  set(1, from.base);
  set(2, bytesFrom(l, to, first));
  Reg elementBytes = l.index(storage_bytes(to.dtype));
  for (size_t i = 0; i < Copy::kMaxRank; ++i) {
    const size_t unused = Copy::kMaxRank - first;
    const bool isUsed = i >= unused;
    set(3 + i, isUsed ? extent(b, to, i - unused) : l.index(1));
    set(3 + Copy::kMaxRank + i, isUsed ? b.CreateMul(to.strides[i - unused], elementBytes) : l.index(0));
    set(3 + 2 * Copy::kMaxRank + i, isUsed ? b.CreateMul(from.strides[i - unused], elementBytes) : l.index(0));
  }
  callRuntime(l, kCopyStartSymbol, b.getVoidTy(), {copy, later->base});
}

/// Copies between views that may extend past their arrays: elements present in both are copied, elements present only
/// in the target become undefined.
void copyPresent(NativeLowering& l, View from, View to) {
  Builder& b = l.b;
  View undefined = to;
  undefined.sizes.clear();
  std::vector<Reg> both;
  Reg reaches = b.getFalse();
  for (size_t d = 0; d < to.shape.size(); ++d) {
    Reg source = presentExtent(b, from, d), target = presentExtent(b, to, d);
    both.push_back(b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, source, target));
    undefined.sizes.push_back(target);
    reaches = b.CreateOr(reaches, b.CreateICmpULT(source, target));
  }
  l.when(reaches, [&] { l.fill(undefined, undefinedElement(b, to.dtype, l.options.poison)); });
  from.sizes = to.sizes = both;
  from.present.clear();
  to.present.clear();
  copyRuns(l, from, to);
}

/// The source or target of a copy, as a packed view.
PackedView sideOf(NativeLowering& l, mlir::Value v) {
  const PackedView* packed = l.packedRef(v);
  return packed ? *packed : unpacked(l.ref(v));
}

Reg dmaBytes(NativeLowering& l, const PackedView& view) {
  View seen = view.cells;
  seen.dtype = view.dtype;
  return dmaBytes(l, seen);
}

/// Ends the call unless the shapes agree, including dynamic sizes.
void requireSameShape(NativeLowering& l, const View& from, const View& to) {
  for (size_t d = 0; d < from.shape.size(); ++d) l.require(l.b.CreateICmpEQ(extent(l.b, from, d), extent(l.b, to, d)));
}

/// Copies through refs that were bitcast to another element width. `later`: the semaphore until whose wait the copy may
/// take; null: it is complete at once.
void copyBits(NativeLowering& l, const PackedView& source, const PackedView& target, const View* later) {
  const PackedView from = withoutUnitDims(source), to = withoutUnitDims(target);
  requireSameShape(l, from.cells, to.cells);
  if (from.cells.memory != to.cells.memory && from.elementsPerCell == 1 && to.elementsPerCell == 1 &&
      from.cellsPerElement == to.cellsPerElement && from.cells.dtype == to.cells.dtype)
    return copyRuns(l, storedCells(l.b, from), storedCells(l.b, to), later);
  finishAllCopies(l);
  // If they may overlap, all elements are read before any is written.
  copyPacked(l, from.cells.memory == to.cells.memory ? unpacked(gatherPacked(l, from)) : from, to);
}

/// Builds the CopiedBox that describes what a copy has written. `isAll`: exactly the elements of the view; otherwise
/// the extent is unknown.
Reg copiedBox(NativeLowering& l, const View& target, bool isAll) {
  Builder& b = l.b;
  const size_t rank = target.shape.size();
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::Type* type = llvm::ArrayType::get(b.getInt64Ty(), 2 + 2 * rank);
  Reg box = Builder(&entry, entry.begin()).CreateAlloca(type);
  const auto set = [&](size_t i, Reg value) { b.CreateStore(value, b.CreateConstInBoundsGEP2_64(type, box, 0, i)); };
  set(0, l.index(isAll ? storage_bytes(target.dtype) : 0));
  set(1, l.index(static_cast<int64_t>(rank)));
  for (size_t d = 0; d < rank; ++d) {
    set(2 + d, presentExtent(b, target, d));
    set(2 + rank + d, target.strides[d]);
  }
  return box;
}

/// Updates the semaphores of a copy and the hazard tracker. `device`: the device of the target; null: this one.
/// `isAll`: as for copiedBox.
void finishCopy(NativeLowering& l, mlir::Operation& op, const View& source, const View& target, Reg bytes,
                const View& arrived, const View* sent, Reg device, bool isAll = true) {
  trackCopyStart(l, op, source, target, arrived, credit(l, arrived, bytes));
  if (device)
    requireDone(l, callRuntime(l, kPutSymbol, l.b.getInt32Ty(),
                               {wideId(l, device), target.base, copiedBox(l, target, isAll), arrived.base,
                                credit(l, arrived, bytes)}));
  else
    addToCount(l, arrived, credit(l, arrived, bytes));
  if (sent) addToCount(l, *sent, credit(l, *sent, bytes));
}

/// Copies between memories of one element width. `later`: as for copyBits.
void copyElements(NativeLowering& l, const View& source, const View& target, const View* later) {
  const View from = withoutUnitDims(source), to = withoutUnitDims(target);
  requireSameShape(l, from, to);
  const bool oneRun = isDense(from) && isDense(to);
  if (from.extendsPast() || to.extendsPast()) {
    finishAllCopies(l);
    copyPresent(l, from, to);
  } else if (from.memory == to.memory && !oneRun) {
    finishAllCopies(l);
    // They may overlap, so all elements are read before any is written.
    const View aside = l.allocate(from.dtype, from.shape);
    copyRuns(l, from, aside);
    copyRuns(l, aside, to);
  } else {
    copyRuns(l, from, to, from.memory == to.memory ? nullptr : later);
  }
}

/// Segments: source, source_semaphore, target, target_semaphore, device_id, core_id, subcore_id.
NativeResult lowerEnqueue(NativeLowering& l, mlir::Operation& op) {
  const OperandSegments s(op);
  const View& arrived = l.ref(s[3]);
  const View* sent = s[1] ? &l.ref(s[1]) : nullptr;
  const View* later = sent || l.options.devices ? nullptr : &arrived;
  if (auto ok = requireSelf(l, s[5]); !ok) return ok;
  Reg device = l.options.devices && s[4] ? l.scalar(s[4]) : nullptr;
  if (!device)
    if (auto ok = requireSelf(l, s[4]); !ok) return ok;
  if (l.packedRef(s[0]) || l.packedRef(s[2])) {
    const PackedView from = sideOf(l, s[0]);
    PackedView to = sideOf(l, s[2]);
    if (device) to.cells = onDevice(l, to.cells, device);
    copyBits(l, from, to, later);
    finishCopy(l, op, storedCells(l.b, from), storedCells(l.b, to), dmaBytes(l, from), arrived, sent, device,
               /*isAll=*/to.cellsPerElement == 1 && to.elementsPerCell == 1);
    return {};
  }
  const View& source = l.ref(s[0]);
  const View to = device ? onDevice(l, l.ref(s[2]), device) : l.ref(s[2]);
  copyElements(l, source, to, later);
  finishCopy(l, op, source, to, dmaBytes(l, source), arrived, sent, device);
  return {};
}

/// Segments as for enqueue_dma. `wait_target`: waits until the target has arrived, otherwise until the source has been
/// sent.
NativeResult lowerWaitDma(NativeLowering& l, mlir::Operation& op) {
  const OperandSegments s(op);
  const bool target = !op.hasAttr("wait_target") || boolAttribute(op, "wait_target");
  const View& semaphore = l.ref(s[target ? 3 : 1]);
  const PackedView awaited = sideOf(l, s[target ? 2 : 0]);
  Reg amount = credit(l, semaphore, dmaBytes(l, awaited));
  wait(l, semaphore, amount);
  const View watched = storedCells(l.b, awaited);
  trackCopyWait(l, op, &watched, semaphore, amount);
  return {};
}

// ---- allocations, and what a kernel asks about where it runs

NativeResult lowerSemaphoreAlloc(NativeLowering& l, mlir::Operation& op) {
  auto type = llvm::cast<mlir::MemRefType>(op.getResult(0).getType());
  l.setRef(op.getResult(0), l.allocateScoped(elementDType(type), shapeOf(type)));
  return {};
}

NativeResult lowerBarrier(NativeLowering& l, mlir::Operation& op) {
  l.setRef(op.getResult(0), l.barrier);
  return {};
}

NativeResult lowerDeviceId(NativeLowering& l, mlir::Operation& op) {
  l.setScalar(op.getResult(0), l.options.devices ? callRuntime(l, kDeviceSymbol, l.b.getInt32Ty(), {})
                                                 : static_cast<Reg>(l.b.getInt32(0)));
  return {};
}

/// The only core.
NativeResult lowerZero(NativeLowering& l, mlir::Operation& op) {
  l.setScalar(op.getResult(0), l.b.getInt32(0));
  return {};
}

NativeResult lowerIterationBound(NativeLowering& l, mlir::Operation& op) {
  const auto dim = static_cast<size_t>(integerAttribute(op, "dim", 0));
  l.setScalar(op.getResult(0), l.b.CreateTrunc(l.gridBounds[dim], l.b.getInt32Ty()));
  return {};
}

constexpr std::array<NativeOpRow, 10> kSyncOps{{
    {"tpu.core_id", lowerZero},
    {"tpu.device_id", lowerDeviceId},
    {"tpu.enqueue_dma", lowerEnqueue},
    {"tpu.iteration_bound", lowerIterationBound},
    {"tpu.sem_alloc", lowerSemaphoreAlloc},
    {"tpu.sem_barrier", lowerBarrier},
    {"tpu.sem_read", lowerSemaphoreRead},
    {"tpu.sem_signal", lowerSemaphoreSignal},
    {"tpu.sem_wait", lowerSemaphoreWait},
    {"tpu.wait_dma", lowerWaitDma},
}};

}  // namespace

std::span<const NativeOpRow> syncOps() { return kSyncOps; }

}  // namespace smalti::cpu
