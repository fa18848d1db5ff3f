// Wanted: a cached call of an empty kernel ≤ 5 µs, tracing FlashAttention ≤ 1 ms.
#include <cmath>

#include <benchmark/benchmark.h>

#include "smalti/smalti.h"

namespace pl = smalti;
using pl::_;

namespace {

constexpr int64_t kLength = 1024, kDepth = 64, kBlock = 128;

void cachedCall(benchmark::State& state) {
  const pl::Array x = pl::ones({8, 128});
  const auto call = pl::pallas_call([](pl::Ref, pl::Ref) {}, {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}});
  for (auto _ : state) benchmark::DoNotOptimize(pl::Array(call(x)));
}
BENCHMARK(cachedCall);

void flash(pl::Ref q, pl::Ref k, pl::Ref v, pl::Ref o, pl::Ref m, pl::Ref l, pl::Ref acc) {
  const int64_t steps = kLength / kBlock;
  pl::when(pl::program_id(1) == 0, [&] {
    m[_] = pl::full_like(m, -INFINITY);
    l[_] = pl::zeros_like(l);
    acc[_] = pl::zeros_like(acc);
  });
  const pl::Array s =
      pl::dot_general(q[_], k[_], {.lhs_contracting = {1}, .rhs_contracting = {1}}) * (1 / std::sqrt(kDepth));
  const pl::Array m_next = pl::maximum(m[_], pl::max(s, {.axes = {1}, .keepdims = true}));
  const pl::Array p = pl::exp(s - m_next), alpha = pl::exp(m[_] - m_next);
  l[_] = alpha * l[_] + pl::sum(p, {.axes = {1}, .keepdims = true});
  acc[_] = alpha * acc[_] + pl::dot(p, v[_]);
  m[_] = m_next;
  pl::when(pl::program_id(1) == steps - 1, [&] { o[_] = acc[_] / l[_]; });
}

pl::PallasCall flashCall() {
  const pl::BlockSpec rows{{kBlock, kDepth}, [](auto i, auto j) { return std::tuple{i, 0}; }};
  const pl::BlockSpec columns{{kBlock, kDepth}, [](auto i, auto j) { return std::tuple{j, 0}; }};
  return pl::pallas_call(flash, {.out_shape = pl::ShapeDtype{{kLength, kDepth}, pl::f32},
                                 .grid = {kLength / kBlock, kLength / kBlock},
                                 .in_specs = {rows, columns, columns},
                                 .out_specs = {rows},
                                 .scratch_shapes = {pl::vmem({kBlock, 1}, pl::f32), pl::vmem({kBlock, 1}, pl::f32),
                                                    pl::vmem({kBlock, kDepth}, pl::f32)}});
}

/// Trace, lower and verify: what the first call of a signature costs before it is compiled for a target.
void traceAndLowerFlashAttention(benchmark::State& state) {
  const pl::Array x = pl::zeros({kLength, kDepth});
  for (auto _ : state) benchmark::DoNotOptimize(flashCall().lower(x, x, x));
}
BENCHMARK(traceAndLowerFlashAttention)->Unit(benchmark::kMicrosecond);

void firstCallOfFlashAttention(benchmark::State& state) {
  const pl::Array x = pl::zeros({kLength, kDepth});
  for (auto _ : state) benchmark::DoNotOptimize(pl::Array(flashCall()(x, x, x)));
}
BENCHMARK(firstCallOfFlashAttention)->Unit(benchmark::kMillisecond);

void vectorAdd(benchmark::State& state) {
  const pl::Array x = pl::ones({8192, 128});
  const pl::BlockSpec rows{{128, 128}, [](auto i) { return std::tuple{i, 0}; }};
  const auto call = pl::pallas_call(
      [](pl::Ref a, pl::Ref b, pl::Ref o) { o[_] = a[_] + b[_]; },
      {.out_shape = pl::ShapeDtype{{8192, 128}, pl::f32}, .grid = {64}, .in_specs = {rows, rows}, .out_specs = {rows}});
  for (auto _ : state) benchmark::DoNotOptimize(pl::Array(call(x, x)));
}
BENCHMARK(vectorAdd)->Unit(benchmark::kMicrosecond);

}  // namespace
