// Elements as the bits that represent them in memory.
#pragma once

#include "cpu/emit/elements/Registers.h"

namespace smalti::gpu {

/// The bits of an element, as an integer of its dtype's width.
inline cpu::Reg bitsOf(cpu::Builder& b, DType t, cpu::Reg value) {
  cpu::Reg stored = cpu::toStorage(b, t, value);
  auto* integer = b.getIntNTy(static_cast<unsigned>(8 * storage_bytes(t)));
  cpu::Reg all = stored->getType()->isIntegerTy() ? stored : b.CreateBitCast(stored, integer);
  return b.CreateZExtOrTrunc(all, b.getIntNTy(static_cast<unsigned>(bit_width(t))));
}

inline cpu::Reg fromBits(cpu::Builder& b, DType t, cpu::Reg bits) {
  llvm::Type* stored = cpu::storageType(b.getContext(), t);
  auto* integer = b.getIntNTy(static_cast<unsigned>(8 * storage_bytes(t)));
  cpu::Reg all = is_integer(t) ? b.CreateSExtOrTrunc(bits, integer) : b.CreateZExtOrTrunc(bits, integer);
  return cpu::fromStorage(b, t, stored->isIntegerTy() ? all : b.CreateBitCast(all, stored));
}

}  // namespace smalti::gpu
