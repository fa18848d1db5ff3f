// Kinds of dtypes, by how native code holds and computes them.
#pragma once

#include "smalti/dtype.h"

namespace smalti::cpu {

/// False: elements of this dtype are only moved, never computed with, by native code.
bool computesNatively(DType);

bool isNarrowFloat(DType);    ///< bf16 or f16
bool isSmallFloat(DType);     ///< fp8 and fp4
bool isRegisterFloat(DType);  ///< held in registers as f32: f32 and all narrower floats

}  // namespace smalti::cpu
