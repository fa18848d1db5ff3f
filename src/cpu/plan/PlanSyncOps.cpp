// Copies and semaphores: which forms have native code, and what is computed before them.
#include <array>

#include "cpu/plan/BodyPlanner.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "ir/facts/OperandSegments.h"

namespace smalti::cpu {
namespace {

constexpr const char* kUnknownCopy = "a copy that native code does not follow";
constexpr const char* kUnknownSemaphore = "a semaphore that native code does not follow";

/// Whether the ref is one semaphore.
bool isSemaphore(const BodyPlanner& p, mlir::Value v) {
  if (!v || !p.hasRef(v)) return false;
  const MemoryView& view = p.ref(v);
  return !view.dynamic() && is_semaphore(view.dtype) && view.elements() == 1;
}

/// The source or target of a copy; nullopt: native code does not follow it.
std::optional<PackedMemory> sideOf(const BodyPlanner& p, mlir::Value v) {
  if (!v) return std::nullopt;
  if (const PackedMemory* packed = p.packedRef(v)) return packed->fold > 1 ? std::nullopt : std::optional(*packed);
  return p.hasRef(v) ? std::optional(unpacked(p.ref(v))) : std::nullopt;
}

/// Null, or a device or core id that may be that of this device or core: without other devices there is no other one.
NativeResult mayBeSelf(const BodyPlanner& p, mlir::Value id) {
  if (!id) return {};
  if (!p.hasScalar(id)) return unsupported("a device or core that native code does not follow");
  const KnownNumber known = p.integers.find(id);
  if (known && *known != 0) return unsupported(kOtherDevice);
  return {};
}

/// `isHere`: both sides are memory of this device.
NativeResult checkCopy(const PackedMemory& source, const PackedMemory& target, bool isPacked, bool isHere) {
  const bool isSameWidth = isPacked ? bit_width(source.dtype) == bit_width(target.dtype)
                                    : storage_bytes(source.cells.dtype) == storage_bytes(target.cells.dtype) &&
                                          !is_semaphore(target.cells.dtype);
  if (!isSameWidth) return unsupported("a copy between dtypes of different widths");
  const MemoryView from = squeezed(source.cells), to = squeezed(target.cells);
  const bool isSized = !from.dynamic() && !to.dynamic();
  if (from.shape.size() != to.shape.size() || (isSized && from.shape != to.shape))
    return unsupported("a copy that reshapes");
  const bool isWithin = isHere && mayOverlap(from, to);
  if (from.extendsPast() || to.extendsPast()) {
    if (isPacked) return unsupported(kUnknownCopy);
    if (isWithin) return unsupported("a copy within one array that extends past its end");
  } else if (isWithin && from.dynamic()) {
    return unsupported("a copy of a dynamic size within one array");
  }
  return {};
}

/// Segments: source, source_semaphore, target, target_semaphore, device_id, core_id, subcore_id.
NativeResult planCopy(BodyPlanner& p, mlir::Operation& op) {
  const OperandSegments s(op);
  if (!isSemaphore(p, s[3]) || (s[1] && !isSemaphore(p, s[1])) || s[6]) return unsupported(kUnknownCopy);
  if (auto ok = mayBeSelf(p, s[5]); !ok) return ok;
  const bool isRemote = p.devices && s[4];
  if (isRemote && !p.hasScalar(s[4])) return unsupported("a device that native code does not follow");
  if (!isRemote)
    if (auto ok = mayBeSelf(p, s[4]); !ok) return ok;
  const auto source = sideOf(p, s[0]), target = sideOf(p, s[2]);
  if (!source || !target) return unsupported(kUnknownCopy);
  const bool isPacked = p.packedRef(s[0]) || p.packedRef(s[2]);
  if (auto ok = checkCopy(*source, *target, isPacked, !isRemote); !ok) return ok;
  p.flushBeforeWrites();
  p.copies.push_back({p.nextPosition(), enclosingControlFlow(op), elementDType(s[0].getType()), shapeOf(s[0].getType()),
                      isRemote, isPacked});
  return {};
}

/// With several devices, others see what the kernel has written. A copy may have written its target until here.
NativeResult exchange(BodyPlanner& p) {
  if (p.devices || p.plan.copiesLater) p.flushBeforeWrites();
  return {};
}

/// Segments as planCopy's.
NativeResult planCopyWait(BodyPlanner& p, mlir::Operation& op) {
  const OperandSegments s(op);
  const bool target = !op.hasAttr("wait_target") || boolAttribute(op, "wait_target");
  if (!isSemaphore(p, s[target ? 3 : 1]) || !sideOf(p, s[target ? 2 : 0])) return unsupported(kUnknownCopy);
  return exchange(p);
}

NativeResult planSemaphoreRead(BodyPlanner& p, mlir::Operation& op) {
  return isSemaphore(p, op.getOperand(0)) ? exchange(p) : unsupported(kUnknownSemaphore);
}

NativeResult planSemaphoreWait(BodyPlanner& p, mlir::Operation& op) {
  if (!isSemaphore(p, op.getOperand(0)) || !p.hasScalar(op.getOperand(1))) return unsupported(kUnknownSemaphore);
  return exchange(p);
}

/// Segments: semaphore, amount, device_id, core_id, subcore_id.
NativeResult planSignal(BodyPlanner& p, mlir::Operation& op) {
  const OperandSegments s(op);
  if (!isSemaphore(p, s[0]) || !s[1] || !p.hasScalar(s[1]) || s[4]) return unsupported(kUnknownSemaphore);
  if (auto ok = mayBeSelf(p, s[3]); !ok) return ok;
  if (!p.devices)
    if (auto ok = mayBeSelf(p, s[2]); !ok) return ok;
  if (s[2] && !p.hasScalar(s[2])) return unsupported("a device that native code does not follow");
  return exchange(p);
}

NativeResult planBarrier(BodyPlanner& p, mlir::Operation& op) {
  if (p.barrier) p.setRef(op.getResult(0), *p.barrier);
  return {};
}

NativeResult planZero(BodyPlanner& p, mlir::Operation& op) {
  p.integers.set(op.getResult(0), 0);
  return {};
}

NativeResult planDeviceId(BodyPlanner& p, mlir::Operation& op) { return p.devices ? NativeResult() : planZero(p, op); }

NativeResult planIterationBound(BodyPlanner& p, mlir::Operation& op) {
  const auto dim = static_cast<size_t>(integerAttribute(op, "dim", 0));
  if (dim >= p.gridBounds.size()) return unsupported("the bound of a grid axis that does not exist");
  p.integers.set(op.getResult(0), p.gridBounds[dim]);
  return {};
}

constexpr std::array<PlanOpRow, 9> kPlannedSyncOps{{
    {"tpu.core_id", planZero},
    {"tpu.device_id", planDeviceId},
    {"tpu.enqueue_dma", planCopy},
    {"tpu.iteration_bound", planIterationBound},
    {"tpu.sem_barrier", planBarrier},
    {"tpu.sem_read", planSemaphoreRead},
    {"tpu.sem_signal", planSignal},
    {"tpu.sem_wait", planSemaphoreWait},
    {"tpu.wait_dma", planCopyWait},
}};

}  // namespace

std::span<const PlanOpRow> plannedSyncOps() { return kPlannedSyncOps; }

}  // namespace smalti::cpu
