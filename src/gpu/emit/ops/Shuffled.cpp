#include "gpu/emit/ops/Shuffled.h"

namespace smalti::gpu {

Reg shuffled(GpuLowering& l, Reg value, int mask) {
  Builder& b = l.b;
  llvm::Type* type = value->getType();
  const unsigned width = type->getScalarSizeInBits();
  if (width > 32) {
    Reg low = l.device.shuffle(b, b.CreateTrunc(value, b.getInt32Ty()), mask);
    Reg high = l.device.shuffle(b, b.CreateTrunc(b.CreateLShr(value, 32), b.getInt32Ty()), mask);
    return b.CreateOr(b.CreateZExt(low, type), b.CreateShl(b.CreateZExt(high, type), 32));
  }
  Reg bits = type->isFloatTy() ? b.CreateBitCast(value, b.getInt32Ty()) : b.CreateZExtOrTrunc(value, b.getInt32Ty());
  Reg other = l.device.shuffle(b, bits, mask);
  return type->isFloatTy() ? b.CreateBitCast(other, type) : b.CreateTrunc(other, type);
}

}  // namespace smalti::gpu
