// Narrow floats that a kernel widens, or reads as halves of words, only to narrow them again.
#include "cpu/rewrite/NarrowFloatMoves.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../native/Native.h"

namespace smalti::cpu::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Array narrow(Shape shape) {
  Array a = Array::allocate({DType::bf16, std::move(shape)}).value();
  for (int64_t i = 0; i < a.elements(); ++i)
    reinterpret_cast<uint16_t*>(a.data())[i] = static_cast<uint16_t>(0x3f00 + i * 37 % 500);
  return a;
}

/// o = (mask ? x : `otherwise`), in f32 on the way; mask: the first five rows.
TextKernel masked(const std::string& otherwise, bool alsoWide = false) {
  TextKernel k;
  const Val x = k.input({.dtype = "bf16", .array = {8, 128}, .space = "vmem"}),
            o = k.output({.dtype = "bf16", .array = {8, 128}, .space = "vmem"});
  const Val kept = k.output({.array = {8, 128}, .space = "vmem"});
  const Val v = k.load(x), y = k.fresh("vector<8x128xbf16>"), s = k.fresh("vector<8x128xf32>");
  k.raw("%rows = tpu.iota {dimensions = array<i32: 0>} : vector<8x128xi32>");
  k.raw("%five = arith.constant dense<5> : vector<8x128xi32>");
  k.raw("%mask = arith.cmpi slt, %rows, %five : vector<8x128xi32>");
  k.raw(fmt::format("%wide = arith.extf {} : vector<8x128xbf16> to vector<8x128xf32>", v.name));
  k.raw(otherwise);
  k.raw(fmt::format("{} = arith.select %mask, %wide, %otherwise : vector<8x128xi1>, vector<8x128xf32>", s.name));
  k.raw(fmt::format("{} = arith.truncf {} : vector<8x128xf32> to vector<8x128xbf16>", y.name, s.name));
  k.store(y, o);
  k.store(alsoWide ? s : k.splat(k.f32(1), {8, 128}), kept);
  return k;
}

TEST(NarrowFloatMoves, SelectionsStayNarrow) {
  for (const char* otherwise : {"%otherwise = arith.constant dense<0.0> : vector<8x128xf32>",
                                "%none = arith.constant 0 : i32\n%number = arith.sitofp %none : i32 to f32\n"
                                "%otherwise = vector.broadcast %number : f32 to vector<8x128xf32>"}) {
    const TextKernel k = masked(otherwise);
    const auto made = moveNarrowFloats(k.package());
    ASSERT_TRUE(made) << otherwise;
    EXPECT_THAT(text(*made), Not(HasSubstr("arith.truncf"))) << otherwise;
    same(k, {narrow({8, 128})});
  }
}

TEST(NarrowFloatMoves, RoundingIsPreserved) {
  const char* third = "%otherwise = arith.constant dense<0.333333343> : vector<8x128xf32>";
  EXPECT_FALSE(moveNarrowFloats(masked(third).package())) << "no bf16";
  same(masked(third), {narrow({8, 128})});
  const TextKernel wide = masked("%otherwise = arith.constant dense<0.0> : vector<8x128xf32>", true);
  EXPECT_FALSE(moveNarrowFloats(wide.package())) << "needed in f32 too";
  same(wide, {narrow({8, 128})});
}

/// Both halves of every second word of a column of pairs of rows, and the words themselves where they are `kept`.
TextKernel halves(bool kept, const char* mask = "-65536") {
  TextKernel k;
  const Val x = k.input({.dtype = "bf16", .array = {32, 128}, .space = "vmem"}),
            low = k.output({.dtype = "bf16", .array = {6, 128}, .space = "vmem"}),
            high = k.output({.dtype = "bf16", .array = {6, 128}, .space = "vmem"});
  const Val words = kept ? k.output({.dtype = "i32", .array = {6, 128}, .space = "vmem"}) : Val{};
  const Val seen = k.fresh("memref<16x128xi32, #tpu.memory_space<vmem>>"), w = k.fresh("vector<6x128xi32>");
  k.raw(fmt::format("{} = tpu.memref_bitcast {} : {} -> {}", seen.name, x.name, x.type, seen.type));
  k.raw("%first = arith.constant 3 : index\n%none = arith.constant 0 : index");
  k.raw(fmt::format("{} = tpu.strided_load {}[%first, %none] {{strides = array<i32: 2, 1>}} : {}, {}", w.name,
                    seen.name, seen.type, w.type));
  const auto half = [&](const char* op, const char* number) {
    const Val n = k.fresh("i32"), splat = k.fresh(w.type), bits = k.fresh(w.type), f = k.fresh("vector<6x128xf32>"),
              y = k.fresh("vector<6x128xbf16>");
    k.raw(fmt::format("{} = arith.constant {} : i32", n.name, number));
    k.raw(fmt::format("{} = vector.broadcast {} : i32 to {}", splat.name, n.name, splat.type));
    k.raw(fmt::format("{} = arith.{} {}, {} : {}", bits.name, op, w.name, splat.name, w.type));
    k.raw(fmt::format("{} = tpu.bitcast {} : {} -> {}", f.name, bits.name, bits.type, f.type));
    k.raw(fmt::format("{} = arith.truncf {} : {} to {}", y.name, f.name, f.type, y.type));
    return y;
  };
  k.store(half("shli", "16"), low);
  k.store(half("andi", mask), high);
  if (kept) k.store(w, words);
  return k;
}

TEST(NarrowFloatMoves, HalvesOfWordsAreRows) {
  const TextKernel k = halves(false);
  const auto made = moveNarrowFloats(k.package());
  ASSERT_TRUE(made);
  EXPECT_THAT(text(*made), Not(HasSubstr("memref_bitcast")));
  const auto results = same(k, {narrow({32, 128})});
  ASSERT_EQ(results.size(), 2U);
  const Array rows = narrow({32, 128});
  const auto* x = reinterpret_cast<const uint16_t*>(rows.data());
  EXPECT_EQ(reinterpret_cast<const uint16_t*>(results[0].data())[128 + 7], x[(3 + 2) * 2 * 128 + 7]);
  EXPECT_EQ(reinterpret_cast<const uint16_t*>(results[1].data())[128 + 7], x[((3 + 2) * 2 + 1) * 128 + 7]);
}

TEST(NarrowFloatMoves, WordsThatAreNeededStay) {
  EXPECT_FALSE(moveNarrowFloats(halves(true).package()));
  same(halves(true), {narrow({32, 128})});
  EXPECT_FALSE(moveNarrowFloats(halves(false, "-131072").package())) << "not all bits of a half";
  same(halves(false, "-131072"), {narrow({32, 128})});
}

}  // namespace
}  // namespace smalti::cpu::testing
