// Vectors of f32 and SLEEF's functions on them, at the width of the instruction set.
#pragma once

#include <sleef.h>

#include "eval/elementwise/isa/Isa.h"

#if defined(__AVX512F__)
#define SMALTI_SLEEF(function, accuracy) Sleef_##function##f16_##accuracy##avx512f
#elif defined(__AVX2__) && defined(__FMA__)
#define SMALTI_SLEEF(function, accuracy) Sleef_##function##f8_##accuracy##avx2
#elif defined(__SSE2__)
#define SMALTI_SLEEF(function, accuracy) Sleef_##function##f4_##accuracy##sse2
#else
#define SMALTI_SLEEF(function, accuracy) Sleef_##function##f_##accuracy
#endif

namespace smalti::eval::SMALTI_ISA {

#if defined(__AVX512F__)
using Vec = __m512;
#elif defined(__AVX2__) && defined(__FMA__)
using Vec = __m256;
#elif defined(__SSE2__)
using Vec = __m128;
#else
using Vec = float;
#endif
inline constexpr int kLanes = sizeof(Vec) / sizeof(float);

inline Vec loadVec(const float* p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline void storeVec(float* p, Vec v) { __builtin_memcpy(p, &v, sizeof v); }
inline Vec spread(float x) { return x - Vec{}; }

}  // namespace smalti::eval::SMALTI_ISA
