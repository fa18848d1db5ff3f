// Wanted: a cached call of an empty kernel ≤ 5 µs, a cached program ≤ 1 µs more than its kernels take when each is
// called alone, tracing FlashAttention ≤ 1 ms, two kernels compiled at once on two idle cores ≤ 1.2 times the time of
// one.
#include <barrier>
#include <chrono>
#include <cmath>
#include <thread>

#include <benchmark/benchmark.h>

#include "smalti/smalti.h"

namespace pl = smalti;
using pl::_;

namespace {

/// A program of kernels in a chain, as native code.
void cachedProgram(benchmark::State& state) {
  pl::Settings native, before;
  pl::unwrap(native.set("target", "cpu"));
  pl::unwrap(before.read_environment());
  pl::use_settings(native);
  const pl::Array x = pl::ones({8, 128});
  const auto call = pl::pallas_call([](pl::Ref a, pl::Ref o) { o[_] = a[_] + 1.0f; },
                                    {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}});
  const auto program = pl::jit([call, kernels = state.range(0)](const pl::Array& a) {
    pl::Array y = a;
    for (int64_t i = 0; i < kernels; ++i) y = pl::Array(call(y));
    return y;
  });
  for (auto _ : state) benchmark::DoNotOptimize(program(x));
  pl::use_settings(before);
}
BENCHMARK(cachedProgram)->Arg(1)->Arg(8)->Arg(32);

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

/// Native code of FlashAttention, by `threads` threads at once, each for a kernel of its own: seconds.
double compileAtOnce(int threads) {
  pl::Settings settings;
  pl::unwrap(settings.set("target", "cpu"));
  pl::unwrap(settings.set("cache", "off"));
  const pl::Array x = pl::zeros({kLength, kDepth});
  std::vector<pl::PallasCall> calls;
  for (int i = 0; i < threads; ++i) {
    calls.push_back(flashCall().with(settings));
    calls.back().lower(x, x, x);  // by this thread: all are in one MLIR context
  }
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin;
  std::barrier start(threads, [&]() noexcept { begin = Clock::now(); });
  std::vector<std::thread> others;
  const auto work = [&](int i) {
    start.arrive_and_wait();
    benchmark::DoNotOptimize(calls[static_cast<size_t>(i)].compile(x, x, x));
  };
  for (int i = 1; i < threads; ++i) others.emplace_back(work, i);
  work(0);
  for (std::thread& t : others) t.join();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Time: of two at once. "ratio": to the time of one.
void twoKernelsCompiledAtOnce(benchmark::State& state) {
  double one = 0, two = 0;
  compileAtOnce(2);  // makes LLVM's objects of the process
  for (auto _ : state) {
    one += compileAtOnce(1);
    const double seconds = compileAtOnce(2);
    two += seconds;
    state.SetIterationTime(seconds);
  }
  state.counters["ratio"] = two / one;
}
BENCHMARK(twoKernelsCompiledAtOnce)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
