// tpu.atomic. The machine runs one instruction at a time, so that the read and the write of one are atomic.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "eval/Elementwise.h"
#include "ir/TpuOpsAtomic.h"
#include "ir/facts/Atomics.h"
#include "machine/flat/Box.h"
#include "machine/flat/ops/Table.h"

namespace smalti::machine::flat {
namespace {

constexpr size_t kElementBytes = 4;

/// The op of src/eval that computes the new elements; empty: they are those of the value.
std::string_view evaluatorOf(AtomicKind kind, bool isFloat) {
  switch (kind) {
    case AtomicKind::add:
      return isFloat ? "arith.addf" : "arith.addi";
    case AtomicKind::max:
      return isFloat ? "arith.maximumf" : "arith.maxsi";
    case AtomicKind::min:
      return isFloat ? "arith.minimumf" : "arith.minsi";
    case AtomicKind::unsignedMax:
      return "arith.maxui";
    case AtomicKind::unsignedMin:
      return "arith.minui";
    case AtomicKind::bitAnd:
      return "arith.andi";
    case AtomicKind::bitOr:
      return "arith.ori";
    case AtomicKind::bitXor:
      return "arith.xori";
    default:
      return {};
  }
}

struct Atomic : Payload {
  int32_t ref = -1;
  Operand value, expected, out;
  bool compares = false;
  eval::BinaryKernel combine = nullptr;  ///< null: the value is stored

  bool run(Frame& frame) const {
    const Ref& to = frame.refs[ref];
    // A slice of the last tile may extend past the end of its array.
    if (to.strided() && to.presentShape() != to.shape)
      return frame.fail({.code = "SM4010",
                         .message = fmt::format("out-of-bounds write: an atomic update of {}", describe(to)),
                         .place = {},
                         .need = fmt::format("a slice of at most [{}] there", fmt::join(to.presentShape(), ", ")),
                         .have = fmt::format("[{}]", fmt::join(to.shape, ", ")),
                         .help = "clamp the index, or make the array large enough"});
    notifyObserver(frame, to);
    const auto n = static_cast<size_t>(out.elements());
    Slot& slot = frame.slots[out.slot];
    std::vector<std::byte> made(n * kElementBytes);
    std::vector<uint8_t> oldMask(n, 1), newMask(n, 1);
    const bool defined = to.read(slot.data, oldMask.data()) || !frame.tracks;
    if (defined) std::fill(oldMask.begin(), oldMask.end(), 1);
    slot.mask = nullptr;
    for (size_t i = 0; i < n; ++i) {
      const std::byte *was = slot.data + i * kElementBytes, *given = element(frame, value, i);
      std::byte* now = made.data() + i * kElementBytes;
      const bool isGivenDefined = isDefined(frame, value, i);
      if (combine) {
        combine(was, given, now, 1, eval::Splat::none);
        newMask[i] = oldMask[i] && isGivenDefined;
      } else if (!compares || std::memcmp(was, element(frame, expected, i), kElementBytes) == 0) {
        std::memcpy(now, given, kElementBytes);
        newMask[i] = isGivenDefined;
      } else {
        std::memcpy(now, was, kElementBytes);
        newMask[i] = oldMask[i];
      }
      // Whether the value is stored depends on the elements that were compared.
      if (compares) newMask[i] &= static_cast<uint8_t>(oldMask[i] && isDefined(frame, expected, i));
    }
    const auto all = [](const std::vector<uint8_t>& mask) { return std::ranges::count(mask, 0) == 0; };
    to.write(made.data(), all(newMask) ? nullptr : newMask.data());
    if (all(oldMask)) return true;
    std::memcpy(frame.newMask(out), oldMask.data(), n);
    frame.tidyMask(out);
    return true;
  }

 private:
  static const std::byte* element(const Frame& frame, const Operand& o, size_t i) {
    return frame.slots[o.slot].data + (o.splat ? 0 : i * kElementBytes);
  }
  static uint8_t isDefined(const Frame& frame, const Operand& o, size_t i) {
    const uint8_t* mask = frame.slots[o.slot].mask;
    return !mask || mask[o.splat ? 0 : i];
  }
  void notifyObserver(Frame& frame, const Ref& to) const {
    if (!frame.observer) return;
    const Shape starts(to.viewShape().size(), 0);
    frame.observer->access(frame.core->actor(), {.kind = MemoryAccess::Kind::atomic,
                                                 .ref = &to,
                                                 .starts = starts,
                                                 .sizes = to.viewShape(),
                                                 .place = &frame.place()});
  }
};

Status lowerAtomic(FlatLowering& lowering, mlir::Operation& op) {
  auto atomic = mlir::cast<tpu::AtomicOp>(op);
  const auto kind = atomicKindNamed(atomic.getKind());
  if (!kind) return lowering.refuse(op, "an unknown kind of update");
  Atomic payload;
  payload.ref = lowering.ref(atomic.getBase());
  payload.value = lowering.operand(atomic.getValue());
  payload.compares = *kind == AtomicKind::compareExchange;
  if (payload.compares) payload.expected = lowering.operand(atomic.getExpected());
  if (const auto name = evaluatorOf(*kind, is_float(payload.value.dtype)); !name.empty()) {
    payload.combine = eval::findBinary(name, payload.value.dtype);
    if (!payload.combine) return lowering.refuse(op);
  }
  payload.out = lowering.define(atomic.getResult());
  lowering.emit(std::move(payload));
  return {};
}

constexpr FlatOpRow kAtomicTable[] = {{"tpu.atomic", lowerAtomic, OpClass::store}};

}  // namespace

std::span<const FlatOpRow> atomicTable() { return kAtomicTable; }

}  // namespace smalti::machine::flat
