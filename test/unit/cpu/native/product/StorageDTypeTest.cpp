// Narrow floats that only products read lie in memory as f32 where they are multiplied as f32.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../Native.h"
#include "cpu/plan/product/TileLayout.h"

namespace smalti::cpu::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Which operand of the product is made in the kernel, and whether it is also a result of its own.
struct Use {
  bool left = true, stored = false;
};

TextKernel product(const std::string& dtype, Use use) {
  TextKernel k;
  const Val in = k.input({.array = {32, 32}, .space = "vmem"}),
            other = k.input({.dtype = dtype, .array = {32, 32}, .space = "vmem"}),
            out = k.output({.array = {32, 32}, .space = "vmem"}),
            kept = k.output({.dtype = dtype, .array = {32, 32}, .space = "vmem"});
  const Val x = k.load(in), y = k.load(other), zero = k.splat(k.f32(0), {32, 32});
  const Val narrow = k.fresh(y.type), r = k.fresh(zero.type);
  k.raw(fmt::format("{} = arith.truncf {} : {} to {}", narrow.name, x.name, x.type, y.type));
  const Val &a = use.left ? narrow : y, &b = use.left ? y : narrow;
  k.raw(
      fmt::format("{} = \"tpu.matmul\"({}, {}, {}) <{{dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], "
                  "[0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false}}> : ({}, {}, {}) -> {}",
                  r.name, a.name, b.name, zero.name, a.type, b.type, zero.type, r.type));
  k.store(r, out);
  k.store(use.stored ? narrow : y, kept);
  return k;
}

std::vector<std::string> products(const TextKernel& k, bool dotIsFast) {
  Processor p = withoutTiles(hostProcessor());
  p.fastBf16Dot = dotIsFast;
  auto outcome = compileNative(k.package(), {.processor = p});
  EXPECT_TRUE(outcome && outcome->kernel);
  return outcome && outcome->kernel ? outcome->kernel->report().matmuls : std::vector<std::string>{};
}

TEST(StorageDType, LoadedOperandsAreMultipliedAsF32) {
  const auto wide = ElementsAre(AllOf(HasSubstr(" f32·"), Not(HasSubstr("A packed"))));
  for (const char* dtype : {"bf16", "f16"}) {
    EXPECT_THAT(products(product(dtype, {}), false), wide) << dtype;
    EXPECT_THAT(products(product(dtype, {.left = false}), false), Not(wide)) << dtype;
    EXPECT_THAT(products(product(dtype, {.stored = true}), false), Not(wide)) << dtype;
  }
  if (hostProcessor().bf16Dot) {
    EXPECT_THAT(products(product("bf16", {}), true), ElementsAre(HasSubstr(" bf16·bf16")));
  }
}

/// Rounded all the same: with what the narrow dtype cannot hold, the sums would be others.
TEST(StorageDType, AreRounded) {
  const auto number = [](int64_t i) { return static_cast<float>((i * 7 + i / 5) % 9 - 4); };
  for (const char* dtype : {"bf16", "f16"})
    for (const bool stored : {false, true}) {
      const TextKernel k = product(dtype, {.stored = stored});
      const Array x = f32Array({32, 32}, [&](int64_t i) { return number(i) * (1 + 0x1p-12F + 0x1p-9F); });
      Array y = Array::allocate({dtype == std::string("f16") ? DType::f16 : DType::bf16, {32, 32}}).value();
      const uint16_t one = y.dtype() == DType::f16 ? 0x3c00 : 0x3f80, two = 0x4000, minus = 0x8000;
      for (int64_t i = 0; i < y.elements(); ++i)
        y.as<uint16_t>()[i] = static_cast<uint16_t>((i % 5 ? one : two) | (i % 3 ? minus : 0));
      same(k, {x, y});
    }
}

}  // namespace
}  // namespace smalti::cpu::testing
