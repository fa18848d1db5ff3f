#include "cpu/analysis/FloatDTypes.h"

namespace smalti::cpu {

bool isNarrowFloat(DType t) { return t == DType::bf16 || t == DType::f16; }

bool isSmallFloat(DType t) {
  return t == DType::f8e5m2 || t == DType::f8e4m3fn || t == DType::f8e4m3b11fnuz || t == DType::f4e2m1fn;
}

bool isRegisterFloat(DType t) { return t == DType::f32 || t == DType::bf16 || t == DType::f16 || isSmallFloat(t); }

}  // namespace smalti::cpu
