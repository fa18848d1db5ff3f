#include "ir/TpuOpsAtomic.h"

#include "ir/facts/Atomics.h"

#define GET_OP_CLASSES
#include "ir/TpuOpsAtomic.cpp.inc"

namespace smalti::tpu {

llvm::LogicalResult AtomicOp::verify() {
  auto ref = getBase().getType();
  const auto kind = atomicKindNamed(getKind());
  if (!kind) return emitOpError() << "has an unknown kind of update '" << getKind() << "'";
  const auto space = memorySpaceOf(ref);
  if (space != MemorySpace::any && space != MemorySpace::hbm)
    return emitOpError() << "needs a ref in ANY or HBM, has " << ref;
  const mlir::Type element = ref.getElementType();
  const bool bits = *kind == AtomicKind::bitAnd || *kind == AtomicKind::bitOr || *kind == AtomicKind::bitXor ||
                    *kind == AtomicKind::unsignedMax || *kind == AtomicKind::unsignedMin;
  if (!ref.hasStaticShape() || !(element.isInteger(32) || (element.isF32() && !bits)))
    return emitOpError() << "needs a ref of a static shape, and of i32" << (bits ? "" : " or f32") << ", has " << ref;
  const mlir::Type type = ref.getRank() == 0 ? element : mlir::VectorType::get(ref.getShape(), element);
  if (getValue().getType() != type || getResult().getType() != type)
    return emitOpError() << "needs a value and a result of " << type << ", has " << getValue().getType() << " and "
                         << getResult().getType();
  const bool compares = *kind == AtomicKind::compareExchange;
  if (compares != (getExpected() != nullptr) || (compares && getExpected().getType() != type))
    return emitOpError() << "needs " << (compares ? "an expected value of the ref's type" : "no expected value");
  return mlir::success();
}

}  // namespace smalti::tpu
