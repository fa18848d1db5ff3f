// Ops on bit patterns, gathers, rotations and small products: nanoseconds for a [rows, 128] block.
#include <benchmark/benchmark.h>

#include <vector>

#include "eval/Bits.h"
#include "eval/Contract.h"
#include "eval/Shape.h"

namespace smalti::eval {
namespace {

struct Block {
  DType dtype;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
  Block(DType t, std::vector<int64_t> s)
      : dtype(t), shape(std::move(s)), bytes(num_elements(shape) * storage_bytes(t)) {}
  Input in() const { return {bytes.data(), dtype, shape}; }
  Output out() { return {bytes.data(), dtype, shape}; }
};

void bitcasted(benchmark::State& state, DType from, DType to) {
  const int64_t rows = state.range(0);
  const Block in(from, {rows, 128});
  Block out(to, {rows * bit_width(from) / bit_width(to), 128});
  for (auto _ : state) {
    bitcast(in.in(), out.out());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * rows * 128);
}

void packed(benchmark::State& state, DType from, DType part, DType word) {
  const Block in(from, {state.range(0), 128});
  Block out(word, in.shape);
  const Input sources[] = {in.in(), in.in()};
  for (auto _ : state) {
    packElementwise(sources, part, out.out());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * 128);
}

void stochastic(benchmark::State& state, DType to) {
  Block in(DType::f32, {state.range(0), 128}), bits(DType::i32, in.shape), out(to, in.shape);
  for (int64_t i = 0; i < num_elements(in.shape); ++i) reinterpret_cast<float*>(in.bytes.data())[i] = 1.0f + 1e-3f * i;
  for (auto _ : state) {
    stochasticConvert(in.in(), bits.in(), out.out());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * 128);
}

void rotated(benchmark::State& state, int dim, int strideDim) {
  const Block in(DType::f32, {state.range(0), 128});
  Block out(DType::f32, in.shape);
  for (auto _ : state) {
    dynamicRotate(in.in(), 5, dim, 1, strideDim, out.out());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * 128);
}

void gathered(benchmark::State& state, int dim) {
  const Block in(DType::f32, {state.range(0), 128}), indices(DType::i32, in.shape);
  Block out(DType::f32, in.shape);
  const int64_t dims[] = {dim};
  for (auto _ : state) {
    dynamicGather(in.in(), indices.in(), dims, out.out());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * 128);
}

void randomBits(benchmark::State& state) {
  Prng prng;
  std::vector<uint32_t> words(state.range(0) * 128);
  for (auto _ : state) {
    prng.fill(words.data(), static_cast<int64_t>(words.size()));
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(words.size()));
}

/// The cost of a product's set-up.
void smallProduct(benchmark::State& state) {
  const int64_t n = state.range(0), zero[] = {0}, one[] = {1};
  const Block a(DType::f32, {n, n}), acc(DType::f32, {n, n});
  Block out(DType::f32, {n, n});
  const DotDims dims{one, zero, zero, one, {}, {}};
  Input splat = acc.in();
  splat.splat = true;
  for (auto _ : state) {
    dotGeneral(a.in(), a.in(), dims, splat, out.out());
    benchmark::ClobberMemory();
  }
}

void productMask(benchmark::State& state, bool hasHole) {
  const int64_t n = state.range(0), zero[] = {0}, one[] = {1}, shape[] = {n, n};
  std::vector<uint8_t> a(n * n, 1), b(n * n, 1), out(n * n, 1);
  if (hasHole) b[n] = 0;
  const DotDims dims{one, zero, zero, one, {}, {}};
  for (auto _ : state) {
    dotGeneralMask(a.data(), shape, b.data(), shape, dims, out.data(), n * n);
    benchmark::ClobberMemory();
  }
}

BENCHMARK_CAPTURE(bitcasted, f32_bf16, DType::f32, DType::bf16)->Arg(8)->Arg(512);
BENCHMARK_CAPTURE(bitcasted, bf16_f32, DType::bf16, DType::f32)->Arg(16)->Arg(512);
BENCHMARK_CAPTURE(bitcasted, i32_i4, DType::i32, DType::i4)->Arg(8)->Arg(512);
BENCHMARK_CAPTURE(packed, f32_bf16, DType::f32, DType::bf16, DType::i32)->Arg(8)->Arg(512);
BENCHMARK_CAPTURE(packed, i32_i16, DType::i32, DType::i16, DType::i32)->Arg(8)->Arg(512);
BENCHMARK_CAPTURE(stochastic, bf16, DType::bf16)->Arg(8)->Arg(512);
BENCHMARK_CAPTURE(stochastic, f8e4m3fn, DType::f8e4m3fn)->Arg(8)->Arg(512);
BENCHMARK_CAPTURE(rotated, lanes, 1, -1)->Arg(8)->Arg(512);
BENCHMARK_CAPTURE(rotated, rows, 0, -1)->Arg(8)->Arg(512);
BENCHMARK_CAPTURE(rotated, lanes_strided, 1, 0)->Arg(8)->Arg(512);
BENCHMARK_CAPTURE(gathered, lanes, 1)->Arg(8)->Arg(512);
BENCHMARK_CAPTURE(gathered, rows, 0)->Arg(8)->Arg(512);
BENCHMARK(randomBits)->Arg(8)->Arg(512);
BENCHMARK(smallProduct)->Arg(4)->Arg(8)->Arg(16)->Arg(32);
BENCHMARK_CAPTURE(productMask, all_defined, false)->Arg(128);
BENCHMARK_CAPTURE(productMask, one_hole, true)->Arg(128);

}  // namespace
}  // namespace smalti::eval
