// Blocks that hang over their arrays, cut anew so that none does.
#include "cpu/grid/FitBlocks.h"

#include <bit>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cpu/CheckedKernel.h"
#include "native/Native.h"

namespace smalti::cpu::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

/// The element-wise sum of two arrays of one shape, in square blocks.
TextKernel sum(const Shape& shape, int64_t block, const std::string& dtype = "f32") {
  TextKernel k({(shape[0] + block - 1) / block, (shape[1] + block - 1) / block}, "parallel,parallel");
  const Spec part{.dtype = dtype, .array = shape, .block = {block, block}, .map = "%i, %j"};
  const Val x = k.input(part), y = k.input(part), o = k.output(part);
  k.store(k.binary(dtype[0] == 'i' ? "arith.addi" : "arith.addf", k.load(x), k.load(y)), o);
  return k;
}

Array numbers(const Shape& shape, DType dtype) {
  Array a = Array::allocate({dtype, shape}).value();
  for (int64_t i = 0; i < a.elements(); ++i) {
    const auto v = static_cast<float>(i * 7 % 251) - 125;
    if (dtype == DType::f32)
      a.as<float>()[i] = v;
    else if (dtype == DType::bf16)
      a.as<uint16_t>()[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(v) >> 16);
    else
      a.as<int8_t>()[i] = static_cast<int8_t>(v);
  }
  return a;
}

void expectSame(const TextKernel& k, const std::vector<Array>& operands) {
  same(k, operands);
  const auto checked = compileChecked(k.package(), {});
  ASSERT_TRUE(checked && checked->kernel);
  const auto got = checked->kernel->call(operands, 1);
  ASSERT_TRUE(got && *got) << "nothing is wrong";
  const auto expected = results(k, operands);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(difference((**got)[i], expected[i]), "");
}

Shape blockOf(const TextKernel& k) {
  const auto made = fitted(k.package());
  return made ? made->signature.windows[0]->bounds : Shape();
}

TEST(FitBlocks, RowsAreWholeAndTheBlockStaysAboutAsLarge) {
  const auto made = fitted(sum({250, 250}, 128).package());
  ASSERT_TRUE(made);
  EXPECT_THAT(made->signature.grid, ElementsAre(2, 1));
  for (const auto& window : made->signature.windows) EXPECT_THAT(window->bounds, ElementsAre(125, 250));
  EXPECT_THAT(blockOf(sum({4000, 4000}, 256)), ElementsAre(32, 4000));
  EXPECT_THAT(blockOf(sum({256, 250}, 128)), ElementsAre(128, 250)) << "one axis hangs over: both are cut";
}

TEST(FitBlocks, SizesWithoutDivisors) {
  EXPECT_THAT(blockOf(sum({251, 250}, 128)), ElementsAre(251, 250)) << "not row by row";
  EXPECT_THAT(blockOf(sum({9973, 24}, 128)), ElementsAre(128, 24)) << "neither row by row nor all at once";
  EXPECT_THAT(blockOf(sum({4, 99991}, 64)), ElementsAre(4, 64)) << "columns as they are";
}

TEST(FitBlocks, BlocksThatDivideStay) { EXPECT_FALSE(fitted(sum({256, 256}, 128).package())); }

TEST(FitBlocks, ValuesAreTheSame) {
  for (const Shape& shape : {Shape{250, 250}, Shape{37, 100}, Shape{251, 250}, Shape{3, 5}, Shape{64, 65}})
    for (const auto& [name, dtype] :
         {std::pair("f32", DType::f32), std::pair("bf16", DType::bf16), std::pair("i8", DType::i8)})
      expectSame(sum(shape, 32, name), {numbers(shape, dtype), numbers(shape, dtype)});
}

TEST(FitBlocks, NothingFromPastTheEnd) {
  const TextKernel k = sum({37, 100}, 32);
  const auto got = same(k, {numbers({37, 100}, DType::f32), numbers({37, 100}, DType::f32)});
  ASSERT_EQ(got.size(), 1);
  EXPECT_THAT(floats(got[0]), Each(::testing::Truly([](float v) { return std::isfinite(v); })));
}

TEST(FitBlocks, AnAxisWhoseIndexIsUsedKeepsItsSteps) {
  TextKernel k({2, 2}, "parallel,parallel");
  const Spec part{.array = {50, 60}, .block = {32, 32}, .map = "%i, %j"};
  const Val x = k.input(part), o = k.output(part);
  k.store(k.binary("arith.addf", k.load(x), k.splat(k.toFloat(k.id(0)), {32, 32})), o);
  EXPECT_THAT(blockOf(k), ElementsAre(32, 60));
  expectSame(k, {counting({50, 60})});
}

TEST(FitBlocks, StepsThatSeeEachOtherStay) {
  TextKernel reads({2, 2});
  const Spec part{.array = {50, 60}, .block = {32, 32}, .map = "%i, %j"};
  const Val x = reads.input(part), o = reads.output(part), scratch = reads.scratch("f32", {32, 32});
  reads.store(reads.load(x), scratch);
  reads.store(reads.load(scratch), o);
  EXPECT_FALSE(fitted(reads.package()));
  TextKernel again({2, 2});
  const Val y = again.input(part), p = again.output({.array = {32, 60}, .block = {32, 32}, .map = "%c0, %j"});
  again.store(again.load(y), p);
  EXPECT_FALSE(fitted(again.package())) << "the last step of a column wins";
}

TEST(FitBlocks, WhatAStoreReplacesMayBeLoaded) {
  TextKernel k({2, 2});
  const Spec part{.array = {50, 60}, .block = {32, 32}, .map = "%i, %j"};
  const Val x = k.input(part), o = k.output(part);
  const Val v = k.load(x);
  k.load(o);
  k.store(v, o);
  EXPECT_THAT(blockOf(k), ElementsAre(25, 60));
  same(k, {counting({50, 60})});
}

TEST(FitBlocks, ArraysOfOtherSizesKeepTheirSteps) {
  TextKernel k({2, 2});
  const Val x = k.input({.array = {50, 60}, .block = {32, 32}, .map = "%i, %j"});
  const Val o = k.output({.array = {64, 64}, .block = {32, 32}, .map = "%i, %j"});
  k.store(k.load(x), o);
  EXPECT_FALSE(fitted(k.package()));
}

}  // namespace
}  // namespace smalti::cpu::testing
