// Atomic updates of arrays that the threads of all blocks share.
#include "cpu/emit/elements/Atomic.h"

#include <array>

#include "gpu/emit/GpuLowering.h"
#include "ir/TpuOpsAtomic.h"

namespace smalti::gpu {
namespace {

/// The sync scope of all threads of the GPU (LLVM, "User Guide for NVPTX Back-end").
constexpr const char* kAtomicScope = "device";

NativeResult lowerAtomic(GpuLowering& l, mlir::Operation& op) {
  auto atomic = llvm::cast<tpu::AtomicOp>(op);
  const auto kind = atomicKindNamed(atomic.getKind());
  const mlir::Value ref = atomic.getBase(), given = atomic.getValue(), compared = atomic.getExpected();
  if (!kind || !l.hasRef(ref) || l.ref(ref).dynamic())
    return unsupported("an atomic update of a ref that device code does not follow");
  const View to = l.ref(ref);
  // Elements of a slice that are past the end of the array cannot be updated.
  for (size_t d = 0; d < to.present.size(); ++d) l.require(l.b.CreateICmpEQ(to.present[d], l.index(to.shape[d])));
  if (auto ok = l.keepLoads(to.memory); !ok) return ok;
  const bool isUsed = !atomic.getResult().use_empty();
  MemorySet reads = l.reads(given), writes{to.memory};
  if (compared) {
    const MemorySet more = l.reads(compared);
    reads.insert(more.begin(), more.end());
  }
  const std::optional<View> before = isUsed ? std::optional(l.allocate(to.dtype, to.shape)) : std::nullopt;
  if (before) writes.insert(before->memory);
  l.touch(reads, writes);
  const auto update = [&](const ElementIndex& at) {
    Reg value = l.element(given, at), expected = compared ? l.element(compared, at) : nullptr;
    if (!value || (compared && !expected)) return;
    Reg was =
        cpu::updateAtomically(l.b, *kind, to.dtype, cpu::elementPointer(l.b, to, at), value, expected, kAtomicScope);
    if (before) cpu::storeElements(l.b, to.dtype, was, cpu::elementPointer(l.b, *before, at), 1);
  };
  if (!to.shape.empty()) {
    l.forElements(to.shape, update);
    if (before) l.setView(atomic.getResult(), *before);
    return l.status;
  }
  l.byOneThread([&] { update({}); });
  if (before) {
    l.touch({before->memory}, {});
    l.setScalar(atomic.getResult(), cpu::loadElements(l.b, to.dtype, before->base, 1));
    l.hazards.markReusable(before->memory);
  }
  return l.status;
}

constexpr std::array<GpuOpRow, 1> kAtomicTable{{{"tpu.atomic", lowerAtomic}}};

}  // namespace

std::span<const GpuOpRow> atomicOps() { return kAtomicTable; }

}  // namespace smalti::gpu
