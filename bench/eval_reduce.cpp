// Reductions and data movement in bytes read per second, against memcpy of as many bytes.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "eval/Reduce.h"
#include "eval/Shape.h"

namespace smalti::eval {
namespace {

void reduce(benchmark::State& state, ReduceKind kind, DType t, int axis) {
  const int64_t shape[] = {state.range(0), state.range(1)}, dims[] = {axis}, outShape[] = {shape[1 - axis]};
  std::vector<std::byte> in(shape[0] * shape[1] * storage_bytes(t)), out(outShape[0] * storage_bytes(t));
  const std::byte zero[8] = {};
  for (auto _ : state) {
    multiReduce(kind, {in.data(), t, shape}, dims, {zero, t, outShape, true}, {out.data(), t, outShape});
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(in.size()));
}

void index(benchmark::State& state, DType t, int axis) {
  const int64_t shape[] = {state.range(0), state.range(1)}, outShape[] = {shape[1 - axis]};
  std::vector<std::byte> in(shape[0] * shape[1] * storage_bytes(t)), out(outShape[0] * 4);
  for (auto _ : state) {
    reduceIndex(true, {in.data(), t, shape}, axis, {out.data(), DType::i32, outShape});
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(in.size()));
}

void transposed(benchmark::State& state, DType t) {
  const int64_t shape[] = {state.range(0), state.range(1)}, outShape[] = {shape[1], shape[0]}, permutation[] = {1, 0};
  std::vector<std::byte> in(shape[0] * shape[1] * storage_bytes(t)), out(in.size());
  for (auto _ : state) {
    transpose({in.data(), t, shape}, permutation, {out.data(), t, outShape});
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(in.size()));
}

void broadcasted(benchmark::State& state, bool alongLanes) {
  const int64_t outShape[] = {state.range(0), state.range(1)};
  const int64_t shape[] = {alongLanes ? outShape[0] : 1, alongLanes ? 1 : outShape[1]};
  std::vector<float> in(shape[0] * shape[1]), out(outShape[0] * outShape[1]);
  for (auto _ : state) {
    broadcast({reinterpret_cast<std::byte*>(in.data()), DType::f32, shape},
              {reinterpret_cast<std::byte*>(out.data()), DType::f32, outShape});
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(out.size() * 4));
}

void window(benchmark::State& state) {
  const int64_t rows = state.range(0), columns = state.range(1), width = 8 * columns;
  const int64_t shape[] = {rows, columns}, from[] = {width, 1}, to[] = {columns, 1};
  std::vector<std::byte> in(rows * width * 4), out(rows * columns * 4);
  for (auto _ : state) {
    copyStrided(in.data(), from, out.data(), to, shape, 4);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(out.size()));
}

void memcpyOfAsMuch(benchmark::State& state) {
  std::vector<std::byte> in(state.range(0) * state.range(1) * 4), out(in.size());
  for (auto _ : state) {
    std::memcpy(out.data(), in.data(), in.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(in.size()));
}

void shapes(benchmark::internal::Benchmark* b) {
  b->Args({8, 128})->Args({128, 128})->Args({1024, 1024})->Args({8192, 1024});
}

BENCHMARK(memcpyOfAsMuch)->Apply(shapes);
BENCHMARK_CAPTURE(reduce, sum_f32_rows, ReduceKind::add, DType::f32, 0)->Apply(shapes);
BENCHMARK_CAPTURE(reduce, sum_f32_lanes, ReduceKind::add, DType::f32, 1)->Apply(shapes);
BENCHMARK_CAPTURE(reduce, max_f32_rows, ReduceKind::maximumf, DType::f32, 0)->Apply(shapes);
BENCHMARK_CAPTURE(reduce, max_f32_lanes, ReduceKind::maximumf, DType::f32, 1)->Apply(shapes);
BENCHMARK_CAPTURE(reduce, sum_bf16_rows, ReduceKind::add, DType::bf16, 0)->Apply(shapes);
BENCHMARK_CAPTURE(reduce, sum_bf16_lanes, ReduceKind::add, DType::bf16, 1)->Apply(shapes);
BENCHMARK_CAPTURE(reduce, sum_i32_lanes, ReduceKind::add, DType::i32, 1)->Apply(shapes);
BENCHMARK_CAPTURE(reduce, max_i8_lanes, ReduceKind::maxsi, DType::i8, 1)->Apply(shapes);
BENCHMARK_CAPTURE(index, f32_rows, DType::f32, 0)->Apply(shapes);
BENCHMARK_CAPTURE(index, f32_lanes, DType::f32, 1)->Apply(shapes);
BENCHMARK_CAPTURE(transposed, f32, DType::f32)->Apply(shapes);
BENCHMARK_CAPTURE(transposed, bf16, DType::bf16)->Apply(shapes);
BENCHMARK_CAPTURE(transposed, i8, DType::i8)->Apply(shapes);
BENCHMARK_CAPTURE(broadcasted, rows, false)->Apply(shapes);
BENCHMARK_CAPTURE(broadcasted, lanes, true)->Apply(shapes);
BENCHMARK(window)->Apply(shapes);

}  // namespace
}  // namespace smalti::eval
