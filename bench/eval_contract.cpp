// Matrix products against the FMA peak of the core in the same run: "of_peak" is the ratio.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <vector>

#include "eval/Contract.h"
#include "eval/Isa.h"

namespace smalti::eval {
namespace {

/// Twelve independent chains of fused multiply-adds in registers, `rounds` times; returns the operations done.
double fmaRun(int64_t rounds) {
#if defined(__x86_64__)
#define SMALTI_FMA(N, R) "vfmadd231ps %%" R "0, %%" R "0, %%" R #N "\n"
#define SMALTI_FMA_LOOP(R)                                                                                            \
  asm volatile("1:\n" SMALTI_FMA(1, R) SMALTI_FMA(2, R) SMALTI_FMA(3, R) SMALTI_FMA(4, R) SMALTI_FMA(5, R)            \
                   SMALTI_FMA(6, R) SMALTI_FMA(7, R) SMALTI_FMA(8, R) SMALTI_FMA(9, R) SMALTI_FMA(10, R)              \
                       SMALTI_FMA(11, R) SMALTI_FMA(12, R) "dec %0\njnz 1b\nvzeroupper"                               \
               : "+r"(left)::"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
                 "xmm11", "xmm12")
  int64_t left = rounds;
  if (activeIsa() != Isa::baseline) {
    if (activeIsa() == Isa::avx512)
      SMALTI_FMA_LOOP("zmm");
    else
      SMALTI_FMA_LOOP("ymm");
    return 2.0 * 12 * (activeIsa() == Isa::avx512 ? 16 : 8) * static_cast<double>(rounds);
  }
#endif
  typedef float Vec __attribute__((vector_size(16)));
  Vec a = {}, b = {}, c = {}, d = {}, e = {}, f = {};
  for (int64_t i = 0; i < rounds; ++i) {
    a += a * a, b += b * b, c += c * c, d += d * d, e += e * e, f += f * f;
    benchmark::ClobberMemory();
  }
  Vec sum = (a + b) + (c + d) + (e + f);
  benchmark::DoNotOptimize(sum);
  return 2.0 * 6 * 4 * static_cast<double>(rounds);
}

/// Time this thread ran, so that other work on the machine counts little.
double threadSeconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double secondsOf(auto f) {
  const double start = threadSeconds();
  f();
  return threadSeconds() - start;
}

/// The best of many short runs, so that other work on the machine does not hide the peak.
double peakFlops() {
  static const double peak = [] {
    double best = 0;
    for (int i = 0; i < 200; ++i) {
      double flops = 0;
      const double s = secondsOf([&] { flops = fmaRun(10000); });
      best = std::max(best, flops / s);
    }
    return best;
  }();
  return peak;
}

void product(benchmark::State& state, DType in, DType result, bool rhsTransposed) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  std::vector<std::byte> a(m * k * storage_bytes(in)), b(n * k * storage_bytes(in)), c(m * n * 4);
  const std::byte zero[8] = {};
  const int64_t lhsShape[] = {m, k}, rhsShape[] = {rhsTransposed ? n : k, rhsTransposed ? k : n}, outShape[] = {m, n};
  const int64_t one[] = {1}, none[] = {0};
  const DotDims dims{one, rhsTransposed ? Dims(one) : Dims(none), none, rhsTransposed ? Dims(none) : Dims(one), {}, {}};
  const int64_t repeats = std::max<int64_t>(1, 50'000'000 / (m * n * k));  // a sample long enough for the clock
  double best = 1e9;                                                       // as the peak: the undisturbed one
  for (auto _ : state) {
    const double s = secondsOf([&] {
      for (int64_t i = 0; i < repeats; ++i) {
        dotGeneral({a.data(), in, lhsShape}, {b.data(), in, rhsShape}, dims, {zero, result, outShape, true},
                   {c.data(), result, outShape});
        benchmark::ClobberMemory();
      }
    });
    best = std::min(best, s / static_cast<double>(repeats));
  }
  const double flops = 2.0 * static_cast<double>(m * n * k) / best;
  state.counters["GFLOPs"] = flops / 1e9;
  state.counters["peak"] = peakFlops() / 1e9;
  state.counters["of_peak"] = flops / peakFlops();
}

void shapes(benchmark::internal::Benchmark* b) {
  for (int64_t n : {128, 256, 512, 1024}) b->Args({n, n, n});
  b->Args({128, 128, 64})->Args({128, 64, 128})->Args({8, 128, 128})->Args({64, 64, 64})->Args({1, 1024, 1024});
  b->Args({1024, 1, 1024})->Args({256, 256, 4096});
}

BENCHMARK_CAPTURE(product, f32, DType::f32, DType::f32, false)->Apply(shapes);
BENCHMARK_CAPTURE(product, f32_rhsT, DType::f32, DType::f32, true)->Apply(shapes);
BENCHMARK_CAPTURE(product, bf16, DType::bf16, DType::f32, false)->Apply(shapes);
BENCHMARK_CAPTURE(product, bf16_rhsT, DType::bf16, DType::f32, true)->Apply(shapes);
BENCHMARK_CAPTURE(product, f8, DType::f8e5m2, DType::f32, false)->Apply(shapes);
BENCHMARK_CAPTURE(product, i8, DType::i8, DType::i32, false)->Apply(shapes);
BENCHMARK_CAPTURE(product, i32, DType::i32, DType::i32, false)->Apply(shapes);

}  // namespace
}  // namespace smalti::eval
