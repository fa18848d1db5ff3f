// Measures every native mathematical function against the exact value and writes docs/cpu/math.md.
//
//   bench_math_ulp [--stride N] [--only NAME] [--speed] [--threads N] [--write FILE]
//
// Stride 1, the default, is every f32; functions of two operands are measured on random pairs.
#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "Exact.h"
#include "ExactWide.h"
#include "cpu/math/Loop.h"
#include "cpu/math/Math.h"

namespace {

using llvm::Value;
using smalti::cpu::compileLoop;
using smalti::cpu::LaneFunction;
using smalti::cpu::Loop;

constexpr int64_t kBlock = 1 << 14;
constexpr int kLanes = 64;
constexpr uint64_t kPairs = 1 << 27;

struct Options {
  uint64_t stride = 1;
  std::string only, write;
  bool speed = false;
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
};

/// At least a half: the exact value is not an f32.
struct Worst {
  double ulp = 0.5;
  float x = 0, y = 0;
  void take(const Worst& other) {
    if (other.ulp > ulp) *this = other;
  }
};

/// In units of the last place of f32 at the exact value; overflow counts as 2^128, the next number there would be.
double ulpError(float got, double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
  if (std::isnan(got)) return std::numeric_limits<double>::infinity();
  const float nearest = static_cast<float>(exact);
  if (nearest == got) {
    if (nearest == 0 && std::signbit(exact) != std::signbit(got)) return std::numeric_limits<double>::infinity();
    if (std::isinf(nearest)) return 0;
  } else if (std::isinf(exact)) {
    return std::numeric_limits<double>::infinity();
  }
  const double value = std::isinf(got) ? std::copysign(0x1p128, got) : got;
  const double bounded = std::min(std::fabs(exact), 0x1p128);
  const int exponent = std::max(bounded == 0 ? -126 : std::ilogb(bounded), -126);
  return std::fabs(value - std::copysign(bounded, exact)) / std::ldexp(1.0, std::min(exponent, 127) - 23);
}

/// The smallest error; most values have it, and computing the error of the others takes longer.
bool isNearest(float got, double exact) {
  return got == static_cast<float>(exact) && std::signbit(got) == std::signbit(exact);
}

LaneFunction native(std::string_view name) {
  return [name](llvm::IRBuilderBase& code, std::span<Value* const> operands) {
    return smalti::cpu::emitMath(code, name, operands);
  };
}

/// The activations made of these functions, as kernels write them.
struct Chain {
  std::string_view name;
  Value* (*emit)(llvm::IRBuilderBase&, Value* x);
};

Value* constant(Value* like, double c) { return llvm::ConstantFP::get(like->getType(), c); }
Value* math(llvm::IRBuilderBase& code, std::string_view name, Value* x) {
  return smalti::cpu::emitMath(code, name, std::span<Value* const>(&x, 1));
}
/// x / 2 · (1 + y)
Value* gated(llvm::IRBuilderBase& code, Value* x, Value* y) {
  return code.CreateFMul(code.CreateFMul(x, constant(x, 0.5)), code.CreateFAdd(y, constant(x, 1)));
}

constexpr Chain kChains[] = {
    {"gelu, by erf",
     [](llvm::IRBuilderBase& code, Value* x) {
       return gated(code, x, math(code, "math.erf", code.CreateFMul(x, constant(x, 0.70710678118654752))));
     }},
    {"gelu, by tanh",
     [](llvm::IRBuilderBase& code, Value* x) {
       Value* cube = code.CreateFMul(code.CreateFMul(x, x), x);
       Value* sum = code.CreateFAdd(x, code.CreateFMul(cube, constant(x, 0.044715)));
       return gated(code, x, math(code, "math.tanh", code.CreateFMul(sum, constant(x, 0.79788456080286536))));
     }},
    {"silu",
     [](llvm::IRBuilderBase& code, Value* x) {
       Value* e = math(code, "math.exp", code.CreateFNeg(x));
       return code.CreateFMul(x, code.CreateFDiv(constant(x, 1), code.CreateFAdd(e, constant(x, 1))));
     }},
};

Worst measureUnary(const ExactFunction& exact, const Loop& loop, const Options& options) {
  const uint64_t total = (uint64_t{1} << 32) / options.stride;
  WideFunction* wide = wideFunction(exact.name);
  std::atomic<uint64_t> next = 0;
  std::vector<Worst> worsts(options.threads);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < options.threads; ++t)
    threads.emplace_back([&, t] {
      std::vector<float> in(kBlock), out(kBlock);
      std::vector<double> wideIn(kBlock), want(kBlock);
      for (uint64_t at = next.fetch_add(kBlock); at < total; at = next.fetch_add(kBlock)) {
        for (uint64_t i = 0; i < kBlock; ++i)
          in[i] = std::bit_cast<float>(static_cast<uint32_t>((at + i) * options.stride));
        loop.run(in.data(), in.data(), out.data(), kBlock);
        if (wide) {
          std::copy(in.begin(), in.end(), wideIn.begin());
          wide(wideIn.data(), want.data(), kBlock);
        } else {
          std::transform(in.begin(), in.end(), want.begin(), exact.of);
        }
        for (uint64_t i = 0; i < kBlock; ++i)
          if (!isNearest(out[i], want[i])) worsts[t].take({ulpError(out[i], want[i]), in[i], 0});
      }
    });
  for (std::thread& thread : threads) thread.join();
  Worst worst;
  for (const Worst& w : worsts) worst.take(w);
  return worst;
}

Worst measureBinary(const ExactBinaryFunction& exact, const Loop& loop, const Options& options) {
  const uint64_t total = kPairs / options.stride;
  std::mt19937_64 random(1);
  std::vector<float> a(kBlock), b(kBlock), out(kBlock);
  Worst worst;
  for (uint64_t at = 0; at < total; at += kBlock) {
    for (size_t i = 0; i < kBlock; ++i) {
      const uint64_t bits = random();
      a[i] = std::bit_cast<float>(static_cast<uint32_t>(bits));
      b[i] = std::bit_cast<float>(static_cast<uint32_t>(bits >> 32));
      if (at / kBlock % 2 == 0) exact.near(a[i], b[i]);
    }
    loop.run(a.data(), b.data(), out.data(), kBlock);
    for (size_t i = 0; i < kBlock; ++i) {
      const double want = exact.of(a[i], b[i]);
      if (!isNearest(out[i], want)) worst.take({ulpError(out[i], want), a[i], b[i]});
    }
  }
  return worst;
}

/// Elements per ns of the best of many rounds over 16 KB in L1.
double measureSpeed(const Loop& loop, float low, float high) {
  constexpr int64_t kCount = 4096;
  std::vector<float> a(kCount), b(kCount), out(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    a[i] = low + (high - low) * static_cast<float>((i * 2654435761u) % kCount) / kCount;
    b[i] = low + (high - low) * static_cast<float>((i * 40503u) % kCount) / kCount;
  }
  double best = 0;
  for (int round = 0; round < 40; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 64; ++i) loop.run(a.data(), b.data(), out.data(), kCount);
    const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
    best = std::max(best, 64 * kCount / ns);
  }
  return best;
}

std::string shown(float x) { return fmt::format("{:.9g}", x); }

struct Row {
  std::string name, worst, at, speed;
};

Row row(std::string_view name, const Worst& worst, std::string at, double speed) {
  if (worst.ulp == 0.5) at.clear();  // correctly rounded everywhere
  return {std::string(name), fmt::format("{:.2f}", worst.ulp), std::move(at),
          speed > 0 ? fmt::format("{:.2f}", speed) : ""};
}

/// The results of one function; nothing if it cannot be compiled.
template <class Measure>
bool add(std::vector<Row>& rows, std::string_view name, int arity, float low, float high, const Options& options,
         Measure measure) {
  if (!options.only.empty() && options.only != name) return true;
  const auto loop = compileLoop(native(name), arity, kLanes);
  if (!loop) {
    fmt::print(stderr, "{}", loop.error().str());
    return false;
  }
  const Worst worst = measure(*loop);
  const double speed = options.speed ? measureSpeed(*loop, low, high) : 0;
  rows.push_back(row(name, worst, arity == 1 ? shown(worst.x) : shown(worst.x) + ", " + shown(worst.y), speed));
  fmt::print("{:14} {:>6} ulp at {:32} {:>6}\n", rows.back().name, rows.back().worst, rows.back().at,
             rows.back().speed);
  std::fflush(stdout);
  return true;
}

std::string page(const std::vector<Row>& rows, const Options& options) {
  std::string text = fmt::format(
      "# Mathematical functions of the `cpu` target\n\n"
      "Made by `bench_math_ulp --speed --write docs/cpu/math.md`. The functions are polynomials inside the kernel\n"
      "(`src/cpu/math`, coefficients by `tools/cpu/minimax.py`); what special values give stands in\n"
      "[values](../values.md). *Worst* is the largest distance from the exact value in units of the last place of f32 "
      "over\n"
      "{}, functions of two operands over {} random pairs; 0.50 would be rounded right\n"
      "everywhere. *Gelem/s* is in cache on one core, on {}, {} lanes at a time.\n\n"
      "| function | worst, ulp | at | Gelem/s |\n|---|---|---|---|\n",
      options.stride == 1 ? std::string("all 2³² of them") : fmt::format("every {}th of them", options.stride),
      kPairs / options.stride, smalti::cpu::hostProcessor().name, kLanes);
  for (const Row& r : rows) text += fmt::format("| {} | {} | {} | {} |\n", r.name, r.worst, r.at, r.speed);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("How far the cpu target's functions are from the exact value, over all 2^32 f32 (minutes for each).");
  app.add_option("--only", options.only, "one function: math.tanh");
  app.add_option("--stride", options.stride, "test every Nth f32 (1)")->check(CLI::PositiveNumber);
  app.add_option("--threads", options.threads)->check(CLI::PositiveNumber);
  app.add_flag("--speed", options.speed, "measure the speed, too");
  app.add_option("--write", options.write, "the table as a page in this file");
  CLI11_PARSE(app, argc, argv);
  std::vector<Row> rows;
  bool good = true;
  for (const ExactFunction& f : exactFunctions())
    good &=
        add(rows, f.name, 1, f.low, f.high, options, [&](const Loop& loop) { return measureUnary(f, loop, options); });
  for (const ExactBinaryFunction& f : exactBinaryFunctions())
    good &= add(rows, f.name, 2, 0.1f, 10, options, [&](const Loop& loop) { return measureBinary(f, loop, options); });
  if (options.speed && options.only.empty())
    for (const Chain& chain : kChains) {
      const auto loop = compileLoop(
          [&](llvm::IRBuilderBase& code, std::span<Value* const> operands) { return chain.emit(code, operands[0]); }, 1,
          kLanes);
      if (!loop) continue;
      rows.push_back({std::string(chain.name), "", "", fmt::format("{:.2f}", measureSpeed(*loop, -5, 5))});
      fmt::print("{:54} {:>6}\n", chain.name, rows.back().speed);
    }
  if (!options.write.empty()) std::ofstream(options.write) << page(rows, options);
  return good ? 0 : 1;
}
