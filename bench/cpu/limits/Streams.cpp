// Memory-bound loops. The streaming ones use non-temporal stores, so that no line is read just to be overwritten.
#include "limits/Loops.h"
#include "limits/Vector.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace smalti::bench {
namespace {

#if defined(__x86_64__)
inline void fence() { _mm_sfence(); }

#pragma GCC push_options
#pragma GCC target("avx512f,fma")
namespace wide {
using V = VectorOf<64>::Type;
inline void stream(float* p, V v) { _mm512_stream_ps(p, v); }
#include "limits/StreamLoops.inc"
}  // namespace wide
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace middle {
using V = VectorOf<32>::Type;
inline void stream(float* p, V v) { _mm256_stream_ps(p, v); }
#include "limits/StreamLoops.inc"
}  // namespace middle
#pragma GCC pop_options
#else
inline void fence() {}
#endif

namespace narrow {
using V = VectorOf<16>::Type;
#if defined(__x86_64__)
inline void stream(float* p, V v) { _mm_stream_ps(p, v); }
#else
inline void stream(float* p, V v) { *reinterpret_cast<V*>(p) = v; }
#endif
#include "limits/StreamLoops.inc"
}  // namespace narrow

}  // namespace

const Streams& streams() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return wide::kAll;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return middle::kAll;
#endif
  return narrow::kAll;
}

}  // namespace smalti::bench
