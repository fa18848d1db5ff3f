// vector.load, memref.load, tpu.strided_load. A load whose value is used before anything can change the memory is a
// view of it; a load whose value is not used only checks its bounds.
#include <cstring>

#include <fmt/format.h>

#include "eval/Shape.h"
#include "machine/Shadow.h"
#include "machine/flat/Box.h"
#include "machine/flat/ops/Memory.h"
#include "machine/flat/ops/Table.h"

namespace smalti::machine::flat {
namespace {

struct CheckBounds : Payload {
  static constexpr bool kQuiet = true;
  BoxShape box;
  bool run(Frame& frame) const {
    Box at;
    return resolveBox(frame, box, Reach::load, at);
  }
};

/// Observers see what is accessed; of this load they have seen the finding.
[[gnu::noinline]] void loadOverEdge(Frame& frame, const BoxShape& box, const Box& at, const Operand& out) {
  reportLoadOverEdge(frame, box, at);
  Slot& slot = frame.slots[out.slot];
  slot.data = slot.home;
  uint8_t* mask = frame.tracks ? frame.newMask(slot) : nullptr;
  readBoxOverEdge(frame, box, at, slot.data, mask);
  if (keptUnsigned(at.ref->dtype())) signExtend(at.ref->dtype(), slot.data, out.elements());
  slot.mask = mask;
  frame.tidyMask(out);
}

struct Load : Payload {
  BoxShape box;
  Operand out;
  Shape dense;  ///< row-major strides of the result
  bool viewable = false;

  bool run(Frame& frame) const {
    Box at;
    if (!resolveBox(frame, box, Reach::load, at)) return false;
    Slot& slot = frame.slots[out.slot];
    if (at.outside) [[unlikely]] {
      loadOverEdge(frame, box, at, out);
      return true;
    }
    reportAccess(frame, box, at, MemoryAccess::Kind::load);
    if (!at.ref->strided()) {
      loadThroughTransforms(frame, at, slot);
      return true;
    }
    Buffer& buffer = *at.ref->buffer;
    const int bytes = storage_bytes(out.dtype);
    const int64_t n = out.elements();
    std::byte* source = buffer.data() + at.offset * bytes;
    const bool kept = keptUnsigned(buffer.type.dtype);
    if (at.contiguous && viewable && !kept) {
      slot.data = source;
    } else {
      slot.data = slot.home;
      if (at.contiguous)
        std::memcpy(slot.data, source, static_cast<size_t>(n * bytes));
      else
        eval::copyStrided(source, {at.steps.data(), dense.size()}, slot.data, dense, out.shape, bytes);
      if (kept) signExtend(buffer.type.dtype, slot.data, n);
    }
    slot.mask = nullptr;
    if (frame.tracks && !buffer.allDefined) [[unlikely]]
      loadMask(frame, buffer, at, slot);
    return true;
  }

  void loadMask(Frame& frame, const Buffer& buffer, const Box& at, Slot& slot) const {
    const uint8_t* shadow = buffer.defined.data() + at.offset;
    const int64_t n = out.elements();
    if (at.contiguous) {
      if (allOnes(shadow, n)) return;
      if (viewable && n != 1)
        slot.mask = shadow;
      else
        std::memcpy(frame.newMask(slot), shadow, static_cast<size_t>(n));
      return;
    }
    uint8_t* mask = frame.newMask(slot);
    eval::copyStrided(reinterpret_cast<const std::byte*>(shadow), {at.steps.data(), dense.size()},
                      reinterpret_cast<std::byte*>(mask), dense, out.shape, 1);
    frame.tidyMask(out);
  }

  void loadThroughTransforms(Frame& frame, const Box& at, Slot& slot) const {
    slot.data = slot.home;
    const bool masked = frame.tracks && !at.ref->buffer->allDefined;
    uint8_t* mask = masked ? frame.newMask(slot) : nullptr;
    readBox(frame, box, at, slot.data, mask);
    if (keptUnsigned(at.ref->dtype())) signExtend(at.ref->dtype(), slot.data, out.elements());
    slot.mask = mask;
    frame.tidyMask(out);
  }
};

/// A scalar of SMEM.
struct LoadScalar : Payload {
  BoxShape box;
  Operand out;
  bool run(Frame& frame) const {
    Box at;
    if (!resolveBox(frame, box, Reach::load, at)) return false;
    if (at.outside) [[unlikely]] {
      loadOverEdge(frame, box, at, out);
      return true;
    }
    reportAccess(frame, box, at, MemoryAccess::Kind::load);
    Slot& slot = frame.slots[out.slot];
    slot.mask = nullptr;
    if (at.ref->strided()) {
      const Buffer& buffer = *at.ref->buffer;
      std::memcpy(&slot.bits, at.ref->buffer->data() + at.offset * storage_bytes(out.dtype),
                  static_cast<size_t>(storage_bytes(out.dtype)));
      if (frame.tracks && !buffer.allDefined && !buffer.defined[static_cast<size_t>(at.offset)])
        frame.setUndefined(out);
    } else {
      uint8_t mask = 1;
      readBox(frame, box, at, slot.data, &mask);
      if (frame.tracks && !mask) frame.setUndefined(out);
    }
    if (keptUnsigned(at.ref->dtype())) signExtend(at.ref->dtype(), slot.data, 1);
    return true;
  }
};

Status lowerLoad(FlatLowering& lowering, mlir::Operation& op) {
  const bool scalar = op.getName().getStringRef() == "memref.load";
  Result<BoxShape> box =
      boxOf(lowering, op, op.getOperand(0), op.getOperands().drop_front(), shapeOf(op.getResult(0).getType()), scalar);
  if (!box) return tl::unexpected(box.error());
  if (lowering.liveness().dead(&op)) {
    CheckBounds payload;
    payload.box = std::move(*box);
    lowering.emit(std::move(payload));
    return {};
  }
  if (scalar) {
    LoadScalar payload;
    payload.box = std::move(*box);
    payload.out = lowering.define(op.getResult(0));
    lowering.emit(std::move(payload));
    return {};
  }
  Load payload;
  payload.box = std::move(*box);
  payload.out = lowering.define(op.getResult(0));
  payload.dense = rowMajorStrides(payload.out.shape);
  payload.viewable = payload.out.elements() != 1 && lowering.liveness().viewable(&op);
  lowering.emit(std::move(payload));
  return {};
}

constexpr FlatOpRow kLoadTable[] = {
    {"memref.load", lowerLoad, OpClass::load},
    {"tpu.strided_load", lowerLoad, OpClass::load},
    {"vector.load", lowerLoad, OpClass::load},
};

}  // namespace

std::span<const FlatOpRow> loadTable() { return kLoadTable; }

}  // namespace smalti::machine::flat
