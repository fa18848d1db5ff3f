// Chains of independent multiply-adds: more of them than ports times latency, fewer than registers.
#include "limits/Loops.h"
#include "limits/Vector.h"

namespace smalti::bench {
namespace {

volatile float sink;

/// `Chains` sums in vectors of `Bytes`; written with vector extensions, so that it is one loop for every machine.
template <int Bytes, int Chains>
[[gnu::always_inline]] inline double fma(int64_t iterations) {
  using V = typename VectorOf<Bytes>::Type;
  V sums[Chains], factor{}, term{};
  for (int i = 0; i < Bytes / 4; ++i) factor[i] = .999f, term[i] = 1e-3f;
  asm volatile("" : "+m"(factor), "+m"(term));
  for (int c = 0; c < Chains; ++c) sums[c] = term * static_cast<float>(c);
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 32
    for (int c = 0; c < Chains; ++c) sums[c] = sums[c] * factor + term;
  }
  float total = 0;
  for (int c = 0; c < Chains; ++c) total += sums[c][0];
  sink = total;
  return static_cast<double>(iterations) * Chains * (Bytes / 4) * 2;
}

#if defined(__x86_64__)
constexpr int kChains = 24;

[[gnu::target("avx512f,fma")]] double fma512(int64_t n) { return fma<64, kChains>(n); }
[[gnu::target("avx2,fma")]] double fma256(int64_t n) { return fma<32, 12>(n); }

// The dot products as assembly, of zeros: GCC 12 keeps their sums in memory.
// clang-format off
#define SMALTI_DOT(OP, N) OP " %%zmm31, %%zmm31, %%zmm" #N "\n\t"
#define SMALTI_DOTS(OP)                                                                             \
  SMALTI_DOT(OP, 0) SMALTI_DOT(OP, 1) SMALTI_DOT(OP, 2) SMALTI_DOT(OP, 3) SMALTI_DOT(OP, 4)         \
  SMALTI_DOT(OP, 5) SMALTI_DOT(OP, 6) SMALTI_DOT(OP, 7) SMALTI_DOT(OP, 8) SMALTI_DOT(OP, 9)         \
  SMALTI_DOT(OP, 10) SMALTI_DOT(OP, 11) SMALTI_DOT(OP, 12) SMALTI_DOT(OP, 13) SMALTI_DOT(OP, 14)    \
  SMALTI_DOT(OP, 15)
#define SMALTI_DOT_LOOP(OP)                                                                         \
  asm volatile("vpxor %%xmm15, %%xmm15, %%xmm15\n\tvmovdqa64 %%zmm15, %%zmm31" ::: "xmm15", "xmm31"); \
  for (int64_t i = 0; i < iterations; ++i)                                                          \
    asm volatile(SMALTI_DOTS(OP) ::: "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", \
                 "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")
// clang-format on
constexpr int kDots = 16;

[[gnu::target("avx512f,avx512bf16")]] double bf16Dot512(int64_t iterations) {
  SMALTI_DOT_LOOP("vdpbf16ps");
  return static_cast<double>(iterations) * kDots * 64;
}

[[gnu::target("avx512f,avx512vnni")]] double int8Dot512(int64_t iterations) {
  SMALTI_DOT_LOOP("vpdpbusd");
  return static_cast<double>(iterations) * kDots * 128;
}

// Pairs of bytes as 16-bit words, where no instruction adds four products; exact, which vpmaddubsw is not.
// clang-format off
#define SMALTI_WORDS(N) "vpmaddwd %%ymm15, %%ymm15, %%ymm14\n\tvpaddd %%ymm14, %%ymm" #N ", %%ymm" #N "\n\t"
// clang-format on
[[gnu::target("avx2")]] double int8Words256(int64_t iterations) {
  asm volatile("vpxor %%xmm15, %%xmm15, %%xmm15" ::: "xmm15");
  for (int64_t i = 0; i < iterations; ++i)
    asm volatile(SMALTI_WORDS(0) SMALTI_WORDS(1) SMALTI_WORDS(2) SMALTI_WORDS(3) SMALTI_WORDS(4) SMALTI_WORDS(5)
                     SMALTI_WORDS(6) SMALTI_WORDS(7)::
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm14");
  return static_cast<double>(iterations) * 8 * 32;
}
#endif

double fma128(int64_t n) { return fma<16, 12>(n); }

}  // namespace

Arithmetic fmaLoop() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return fma512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return fma256;
#endif
  return fma128;
}

Arithmetic bf16DotLoop() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bf16")) return bf16Dot512;
#endif
  return nullptr;
}

Arithmetic int8DotLoop() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vnni")) return int8Dot512;
  if (__builtin_cpu_supports("avx2")) return int8Words256;
#endif
  return nullptr;
}

}  // namespace smalti::bench
