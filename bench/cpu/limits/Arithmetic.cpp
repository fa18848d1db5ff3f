// Chains of independent multiply-adds: more of them than ports times latency, fewer than registers.
#include "limits/Loops.h"
#include "limits/Vector.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

[[gnu::target("avx512f,avx512bw,avx512vl,avx512bf16")]] double bf16Dot512(int64_t iterations) {
  __m512 sums[kChains];
  for (auto& s : sums) s = _mm512_setzero_ps();
  const __m512bh a = _mm512_cvtne2ps_pbh(_mm512_set1_ps(.5f), _mm512_set1_ps(.25f));
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 32
    for (auto& s : sums) s = _mm512_dpbf16_ps(s, a, a);
  }
  float total = 0;
  for (auto& s : sums) total += _mm512_cvtss_f32(s);
  sink = total;
  return static_cast<double>(iterations) * kChains * 64;
}

[[gnu::target("avx512f,avx512vnni")]] double int8Dot512(int64_t iterations) {
  __m512i sums[kChains];
  for (auto& s : sums) s = _mm512_setzero_si512();
  const __m512i a = _mm512_set1_epi32(0x01010101);
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 32
    for (auto& s : sums) s = _mm512_dpbusd_epi32(s, a, a);
  }
  int total = 0;
  for (auto& s : sums) total += _mm512_cvtsi512_si32(s);
  sink = static_cast<float>(total);
  return static_cast<double>(iterations) * kChains * 128;
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
#endif
  return nullptr;
}

}  // namespace smalti::bench
