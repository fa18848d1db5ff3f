// Kinds of dtypes, by how native code holds and computes them.
#pragma once

#include "smalti/dtype.h"

namespace smalti::cpu {

/// False: elements of this dtype are only moved, never computed with, by native code.
bool computesNatively(DType);

bool isNarrowFloat(DType);    ///< bf16 or f16
bool isSmallFloat(DType);     ///< fp8 and fp4: f8e5m2, f8e4m3fn, f8e4m3b11fnuz, f4e2m1fn
bool isRegisterFloat(DType);  ///< held in registers as f32: f32 and all narrower floats

}  // namespace smalti::cpu
