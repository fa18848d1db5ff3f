// Random kernels, and every rewrite of them, which must compute the same values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <rapidcheck.h>

#include "../native/Native.h"
#include "cpu/rewrite/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu::testing {

/// Small whole numbers: their sums are exact in any order.
inline Array numbers(const Shape& shape, int64_t seed) {
  return f32Array(shape, [=](int64_t i) { return static_cast<float>((i * 7 + seed) % 11 - 5); });
}

struct Kernel {
  TextKernel k;
  std::vector<Array> operands;
};

constexpr int64_t kBlock = 8;

inline int64_t steps() { return *rc::gen::inRange<int64_t>(1, 4); }
/// An extent that so many blocks cover, the last one perhaps in part.
inline int64_t extentOf(int64_t steps) {
  return steps * kBlock - (*rc::gen::inRange(0, 3) == 0 ? *rc::gen::inRange<int64_t>(0, kBlock) : 0);
}

inline Val dot(TextKernel& k, const Val& a, const Val& b, const Val& c) {
  const Val v = k.fresh(fmt::format("vector<{0}x{0}xf32>", kBlock));
  k.raw(
      fmt::format("{0} = tpu.matmul {1}, {2}, {3} {{dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], "
                  "[1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false}} : {4}, {5}, {4} -> {4}",
                  v.name, a.name, b.name, c.name, v.type, b.type));
  return v;
}

/// Fails the property unless the machine computes the same with both. Undefined elements (NaN) may differ in their
/// bits.
void requireSame(const KernelPackage&, const KernelPackage& made, const std::vector<Array>& operands);

/// How often each pass has changed one of `cases` random kernels per case of RapidCheck; a test failure when a
/// rewritten kernel computes something else on the machine. Undefined elements (NaN) may differ in their bits.
std::map<std::string, int> applied(Kernel (*some)(), int cases);

}  // namespace smalti::cpu::testing
