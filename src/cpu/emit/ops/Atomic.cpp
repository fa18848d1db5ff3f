// Atomic updates of arrays that threads share.
#include "cpu/emit/elements/Atomic.h"

#include <array>

#include "cpu/emit/ops/OpTables.h"
#include "ir/TpuOpsAtomic.h"

namespace smalti::cpu {
namespace {

NativeResult lowerAtomic(NativeLowering& l, mlir::Operation& op) {
  auto atomic = llvm::cast<tpu::AtomicOp>(op);
  const auto kind = atomicKindNamed(atomic.getKind());
  const mlir::Value ref = atomic.getBase();
  const View to = l.ref(ref);
  // Elements of a slice that are past the end of the array cannot be updated.
  for (size_t d = 0; d < to.present.size(); ++d) l.require(l.b.CreateICmpEQ(to.present[d], l.index(to.shape[d])));
  const bool isScalar = to.shape.empty(), isUsed = !atomic.getResult().use_empty();
  const auto update = [&](Reg place, Reg value, Reg expected) {
    return updateAtomically(l.b, *kind, to.dtype, place, value, expected);
  };
  if (isScalar) {
    Reg value = l.scalar(atomic.getValue()), expected = atomic.getExpected() ? l.scalar(atomic.getExpected()) : nullptr;
    l.setScalar(atomic.getResult(), update(to.base, value, expected));
    return {};
  }
  const View value = l.view(atomic.getValue());
  const std::optional<View> expected =
      atomic.getExpected() ? std::optional(l.view(atomic.getExpected())) : std::nullopt;
  const std::optional<View> before = isUsed ? std::optional(l.allocate(to.dtype, to.shape)) : std::nullopt;
  std::vector<Reg> at;
  const auto element = [&](const View& v) { return loadElements(l.b, v.dtype, elementPointer(l.b, v, at), 1); };
  std::function<void()> walk = [&] {
    if (at.size() < to.shape.size()) {
      l.loop(l.index(0), l.index(to.shape[at.size()]), l.index(1), [&](Reg i) {
        at.push_back(i);
        walk();
        at.pop_back();
      });
      return;
    }
    Reg was = update(elementPointer(l.b, to, at), element(value), expected ? element(*expected) : nullptr);
    if (before) storeElements(l.b, to.dtype, was, elementPointer(l.b, *before, at), 1);
  };
  walk();
  if (before) l.setView(atomic.getResult(), *before);
  return {};
}

constexpr std::array<NativeOpRow, 1> kAtomicTable{{{"tpu.atomic", lowerAtomic}}};

}  // namespace

std::span<const NativeOpRow> atomicOps() { return kAtomicTable; }

}  // namespace smalti::cpu
