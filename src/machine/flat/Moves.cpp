// Moving values where control flow joins: loop-carried values, results of branches and regions.
#include <algorithm>
#include <cstring>

#include "eval/Shape.h"
#include "machine/flat/FlatLowering.h"

namespace smalti::machine::flat {

const Instruction* copyScalar(Frame& frame, const Instruction* i) {
  const Slot& from = frame.slots[i->a];
  Slot& to = frame.slots[i->out];
  to.bits = from.bits;
  to.bitsMask = from.mask ? *from.mask : 1;
  to.mask = to.bitsMask ? nullptr : &to.bitsMask;
  return i + 1;
}

namespace {

const Instruction* copyRef(Frame& frame, const Instruction* i) {
  frame.refs[i->out] = frame.refs[i->a];
  return i + 1;
}

/// A vector (or a splat) to a vector's home.
struct CopyVector : Payload {
  Operand from, to;
  void run(Frame& frame) const {
    Slot& target = frame.slots[to.slot];
    const Slot& source = frame.slots[from.slot];
    const int bytes = storage_bytes(to.dtype);
    const auto n = static_cast<size_t>(to.elements());
    target.data = target.home;
    if (from.splat)
      eval::fill(target.data, source.data, to.elements(), bytes);
    else if (target.data != source.data)
      std::memcpy(target.data, source.data, n * static_cast<size_t>(bytes));
    const uint8_t* mask = source.mask;
    if (!mask) {
      target.mask = nullptr;
      return;
    }
    uint8_t* result = frame.newMask(target);
    if (from.splat)
      std::memset(result, *mask, n);
    else if (result != mask)
      std::memcpy(result, mask, n);
  }
};

struct Move {
  bool isRef = false;
  int32_t from = -1, to = -1;            ///< refs
  int32_t fromPlace = -1, toPlace = -1;  ///< the storages read and written, or slots without storage
  Operand fromOperand, toOperand;
};

}  // namespace

void FlatLowering::copy(const Operand& from, const Operand& to) {
  if (to.stored() == 1) {
    Instruction& i = emit(&copyScalar);
    i.a = from.slot;
    i.out = to.slot;
    return;
  }
  CopyVector payload;
  payload.from = from;
  payload.to = to;
  emit(std::move(payload));
}

void FlatLowering::moveAll(mlir::ValueRange from, mlir::ValueRange to) {
  // Places are numbered so that refs, storages and inline slots never share a number.
  const auto refPlace = [](int32_t ref) { return -2 - ref; };
  const auto slotPlace = [&](int32_t slot) {
    const int32_t storage = storageOfSlot_[static_cast<size_t>(slot)];
    return storage >= 0 ? storage * 2 : slot * 2 + 1;
  };
  std::vector<Move> pending;
  for (auto [source, target] : llvm::zip(from, to)) {
    Move m{.isRef = isRef(target)};
    if (m.isRef) {
      m.from = ref(source);
      m.to = ref(target);
      m.fromPlace = refPlace(m.from);
      m.toPlace = refPlace(m.to);
      if (m.from == m.to) continue;
    } else {
      m.fromOperand = operand(source);
      m.toOperand = operand(target);
      m.fromPlace = slotPlace(m.fromOperand.slot);
      m.toPlace = slotPlace(m.toOperand.slot);
      if (m.fromOperand.slot == m.toOperand.slot && m.fromOperand.splat == m.toOperand.splat) continue;
    }
    pending.push_back(std::move(m));
  }
  const auto emitMove = [&](const Move& m) {
    if (m.isRef) {
      Instruction& i = emit(&copyRef);
      i.a = m.from;
      i.out = m.to;
      return;
    }
    touch(storageOfSlot_[static_cast<size_t>(m.fromOperand.slot)], here());
    touch(storageOfSlot_[static_cast<size_t>(m.toOperand.slot)], here());
    copy(m.fromOperand, m.toOperand);
  };
  while (!pending.empty()) {
    const auto free = std::find_if(pending.begin(), pending.end(), [&](const Move& m) {
      return std::none_of(pending.begin(), pending.end(),
                          [&](const Move& other) { return &other != &m && other.fromPlace == m.toPlace; });
    });
    if (free != pending.end()) {
      emitMove(*free);
      pending.erase(free);
      continue;
    }
    // A cycle: save the value that the first move reads.
    Move& first = pending.front();
    Move aside = first;
    if (first.isRef) {
      aside.to = program_->refs++;
      first.from = aside.to;
      first.fromPlace = refPlace(aside.to);
    } else {
      if (first.fromOperand.stored() == 1) {
        aside.toOperand = {.slot = newSlot({}),
                           .dtype = first.toOperand.dtype,
                           .shape = first.fromOperand.shape,
                           .splat = first.fromOperand.splat};
      } else {
        aside.toOperand = first.fromOperand;
        aside.toOperand.slot = newSlot({.kind = SlotInit::Kind::arena});
        storageOfSlot_.back() = newStorage(first.toOperand.elements() * storage_bytes(first.toOperand.dtype));
      }
      first.fromOperand = aside.toOperand;
      first.fromPlace = slotPlace(aside.toOperand.slot);
    }
    emitMove(aside);
    // The place it was read from is free now; `aside` itself is not pending.
    if (!first.isRef) touch(storageOfSlot_[static_cast<size_t>(first.fromOperand.slot)], here());
  }
}

}  // namespace smalti::machine::flat
