// The best that a product's innermost loop can do: a tile of independent sums in registers, more of them than ports
// times latency, with operands in L1. The loads make it sensitive to a neighbour on the same core: a loop of
// multiply-adds alone leaves two thirds of the issue slots to the neighbour and runs as fast as before.
#include "limits/Loops.h"
#include "limits/Vector.h"

namespace smalti::bench {
namespace {

volatile float sink;
constexpr int kSteps = 32;  // of the summed axis, between two looks at the clock's counter: a few KiB of operands

/// `Rows` x 2 sums in vectors of `Bytes`; written with vector extensions, so that it is one loop for every machine.
template <int Bytes, int Rows>
[[gnu::always_inline]] inline double fma(int64_t iterations) {
  using V = typename VectorOf<Bytes>::Type;
  constexpr int kLanes = Bytes / 4;
  static float left[kSteps * Rows];
  static V right[kSteps * 2];
  for (float& x : left) x = 1e-3f;
  for (V& x : right) x = 1e-3f - V{};
  V sums[Rows][2] = {};
  for (int64_t i = 0; i < iterations; ++i) {
    const float* a = left;
    const V* b = right;
    asm volatile("" : "+r"(a), "+r"(b));  // so that the compiler assumes new values each time
    for (int k = 0; k < kSteps; ++k, a += Rows, b += 2) {
      const V columns[2] = {b[0], b[1]};
#pragma GCC unroll 32
      for (int r = 0; r < Rows; ++r) {
        const V row = a[r] - V{};  // to all lanes
        sums[r][0] += row * columns[0];
        sums[r][1] += row * columns[1];
      }
    }
  }
  float total = 0;
  for (auto& row : sums) total += row[0][0] + row[1][0];
  sink = total;
  return static_cast<double>(iterations) * kSteps * Rows * 2 * kLanes * 2;
}

#if defined(__x86_64__)
[[gnu::target("avx512f,fma")]] double fma512(int64_t n) { return fma<64, 12>(n); }
[[gnu::target("avx2,fma")]] double fma256(int64_t n) { return fma<32, 6>(n); }

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

/// Pairs of bytes as 16-bit words, where no instruction adds four products; exact, which vpmaddubsw is not.
[[gnu::target("avx2")]] double int8Words256(int64_t iterations) {
  constexpr int kRows = 6;
  using Words = short __attribute__((vector_size(32), may_alias));
  using Sums = int __attribute__((vector_size(32), may_alias));
  static int left[kSteps * kRows];
  static Sums right[kSteps * 2];
  Sums sums[kRows][2] = {};
  for (int64_t i = 0; i < iterations; ++i) {
    const int* a = left;
    const Sums* b = right;
    asm volatile("" : "+r"(a), "+r"(b));
    for (int k = 0; k < kSteps; ++k, a += kRows, b += 2) {
      const Sums columns[2] = {b[0], b[1]};
#pragma GCC unroll 32
      for (int r = 0; r < kRows; ++r) {
        const Sums row = a[r] - Sums{};
        for (int c = 0; c < 2; ++c)
          sums[r][c] += reinterpret_cast<Sums>(
              __builtin_ia32_pmaddwd256(reinterpret_cast<Words>(row), reinterpret_cast<Words>(columns[c])));
      }
    }
  }
  int total = 0;
  for (auto& row : sums) total += row[0][0] + row[1][0];
  sink = static_cast<float>(total);
  return static_cast<double>(iterations) * kSteps * kRows * 2 * 32;
}
#endif

double fma128(int64_t n) { return fma<16, 4>(n); }

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
