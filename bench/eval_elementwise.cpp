// Element-wise kernels on data in the L2 cache; items_per_second is elements per second of one core.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "eval/Elementwise.h"
#include "eval/FloatFormats.h"
#include "eval/elementwise/Tables.h"

using namespace smalti;
using namespace smalti::eval;

namespace {

constexpr int64_t kElements = 32 * 1024;

/// Numbers around ±4 (integers: ±100), so that functions take their usual path.
std::vector<std::byte> operand(DType t, int seed) {
  std::vector<std::byte> bytes(kElements * storage_bytes(t));
  uint32_t state = seed;
  for (int64_t i = 0; i < kElements; ++i) {
    state = state * 1664525 + 1013904223;
    const double unit = (state >> 8) / 16777216.0;
    const double x = is_float(t) ? 0.01 + 4 * unit : 1 + 100 * unit;
    elementFromDouble(t, x, bytes.data() + i * storage_bytes(t));
  }
  return bytes;
}

void finish(benchmark::State& state) { state.SetItemsProcessed(state.iterations() * kElements); }

void unary(benchmark::State& state, UnaryKernel kernel, DType from, DType to) {
  const auto in = operand(from, 1);
  std::vector<std::byte> out(kElements * storage_bytes(to));
  for (auto _ : state) kernel(in.data(), out.data(), kElements);
  finish(state);
}

void binary(benchmark::State& state, BinaryKernel kernel, DType t, Splat splat) {
  const auto a = operand(t, 1), b = operand(t, 2);
  std::vector<std::byte> out(kElements * storage_bytes(t));
  for (auto _ : state) kernel(a.data(), b.data(), out.data(), kElements, splat);
  finish(state);
}

void selectWords(benchmark::State& state, int bytes) {
  const auto a = operand(DType::f64, 1), b = operand(DType::f64, 2);
  std::vector<uint8_t> c(kElements);
  for (int64_t i = 0; i < kElements; ++i) c[i] = i % 3 == 0;
  std::vector<std::byte> out(kElements * 8);
  for (auto _ : state) select(c.data(), false, a.data(), false, b.data(), false, out.data(), kElements, bytes);
  finish(state);
}

void addUnary(const char* op, DType t) {
  if (const UnaryKernel kernel = findUnary(op, t))
    benchmark::RegisterBenchmark((std::string(op) + "/" + std::string(name(t))).c_str(),
                                 [=](benchmark::State& s) { unary(s, kernel, t, t); });
}

void addBinary(const char* op, DType t, Splat splat = Splat::none) {
  const BinaryKernel kernel = findBinary(op, t);
  if (!kernel) return;
  const std::string label = std::string(op) + "/" + std::string(name(t)) + (splat == Splat::none ? "" : "/splat");
  benchmark::RegisterBenchmark(label.c_str(), [=](benchmark::State& s) { binary(s, kernel, t, splat); });
}

void addConvert(DType from, DType to) {
  const UnaryKernel kernel = findArrayConvert(from, to);
  benchmark::RegisterBenchmark(("convert/" + std::string(name(from)) + "/" + std::string(name(to))).c_str(),
                               [=](benchmark::State& s) { unary(s, kernel, from, to); });
}

const bool kRegistered = [] {
  using enum DType;
  for (const DType t : {f32, bf16, f16, f8e4m3fn})
    for (const char* op : {"arith.addf", "arith.divf", "arith.maximumf", "arith.cmpf.olt"}) addBinary(op, t);
  addBinary("arith.addf", f32, Splat::rhs);
  addBinary("arith.addf", bf16, Splat::rhs);
  for (const char* op : {"arith.remf", "math.powf", "math.atan2"}) addBinary(op, f32);
  for (const DType t : {i32, i8, i16, i4, i64})
    for (const char* op : {"arith.addi", "arith.muli", "arith.shli", "arith.divsi", "arith.remui", "arith.cmpi.slt"})
      addBinary(op, t);
  for (const char* op : {"arith.negf", "math.floor", "math.round", "math.sqrt", "math.rsqrt", "tpu.weird"})
    addUnary(op, f32);
  for (const char* op : {"math.exp", "math.exp2", "math.expm1", "math.log", "math.log1p", "math.log2", "math.tanh",
                         "math.erf", "math.sin", "math.cos", "math.tan", "math.asin", "math.acos", "math.atan",
                         "math.sinh", "math.cosh", "math.cbrt"})
    addUnary(op, f32);
  for (const char* op : {"math.exp", "math.tanh", "math.floor"}) addUnary(op, bf16);
  for (const char* op : {"math.ctpop", "math.ctlz", "math.absi"}) addUnary(op, i32);
  for (const DType t : {bf16, f16, f8e5m2, f8e4m3fn, f4e2m1fn, i32, i8, i4, pred}) addConvert(t, f32);
  for (const DType t : {bf16, f16, f8e5m2, f8e4m3fn, f4e2m1fn, i32, i8, i4, u8, pred}) addConvert(f32, t);
  addConvert(i8, i32);
  addConvert(i4, bf16);
  addConvert(i32, i8);
  for (const int bytes : {1, 2, 4, 8})
    benchmark::RegisterBenchmark(("select/" + std::to_string(bytes)).c_str(),
                                 [=](benchmark::State& s) { selectWords(s, bytes); });
  return true;
}();

}  // namespace
