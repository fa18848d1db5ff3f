// Stores of narrow elements that are computed in 32 bits, in numbers that leave one of a vector over: they end there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../Native.h"

namespace smalti::cpu::testing {
namespace {

/// The first columns of each row become narrow; the others are 1.
TextKernel narrowed(const std::string& dtype, const std::string& op, int64_t columns) {
  const bool isFloat = dtype.find('f') != std::string::npos;
  TextKernel k;
  const std::string wide = isFloat ? "f32" : "i32";
  const Val x = k.input({.dtype = wide, .array = {8, 160}}), o = k.output({.dtype = dtype, .array = {8, 160}});
  const std::string all = fmt::format("vector<8x160x{}>", dtype), part = fmt::format("vector<8x{}x{}>", columns, dtype);
  k.raw(fmt::format("%ones = arith.constant dense<{}> : {}", isFloat ? "1.0" : "1", all));
  k.store({"%ones", all}, o);
  const Val zero = k.constant(0), v = k.load(x, {8, columns}, {zero, zero});
  const Val doubled = k.binary(isFloat ? "arith.addf" : "arith.addi", v, v);
  k.raw(fmt::format("%narrow = {} {} : {} to {}", op, doubled.name, doubled.type, part));
  k.store({"%narrow", part}, o, {zero, zero});
  return k;
}

TEST(NativeNarrowStores, EndWithTheLastElement) {
  const Array floats = counting({8, 160}),
              integers = i32Array({8, 160}, [](int64_t i) { return static_cast<int32_t>(i * 77); });
  for (const int64_t columns : {1, 7, 9, 15, 16, 17, 18, 31, 33, 49, 57, 63, 64, 65, 81, 97, 113, 129, 145}) {
    for (const std::string dtype : {"bf16", "f16"}) same(narrowed(dtype, "arith.truncf", columns), {floats});
    for (const std::string dtype : {"i8", "i16"}) same(narrowed(dtype, "arith.trunci", columns), {integers});
  }
}

}  // namespace
}  // namespace smalti::cpu::testing
