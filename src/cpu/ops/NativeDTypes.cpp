#include "cpu/ops/NativeDTypes.h"

namespace smalti::cpu {

bool computesNatively(DType t) {
  switch (t) {
    case DType::f32:
    case DType::bf16:
    case DType::f16:
    case DType::f8e5m2:
    case DType::f8e4m3fn:
    case DType::f8e4m3b11fnuz:
    case DType::f8e8m0fnu:
    case DType::f4e2m1fn:
    case DType::i2:
    case DType::i4:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
    case DType::index:
    case DType::pred:
      return true;
    default:
      return false;
  }
}

bool isNarrowFloat(DType t) { return t == DType::bf16 || t == DType::f16; }

bool isSmallFloat(DType t) { return is_float(t) && bit_width(t) <= 8; }

bool isRegisterFloat(DType t) { return t == DType::f32 || t == DType::bf16 || t == DType::f16 || isSmallFloat(t); }

}  // namespace smalti::cpu
