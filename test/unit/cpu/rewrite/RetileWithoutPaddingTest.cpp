// Grids with partial blocks, retiled so that none is partial.
#include "cpu/rewrite/grid/RetileWithoutPadding.h"

#include <bit>
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../native/Native.h"
#include "cpu/CheckedKernel.h"
#include "cpu/check/Instrument.h"

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
  const auto made = retileWithoutPadding(k.package());
  return made ? made->signature.windows[0]->bounds : Shape();
}

TEST(RetileWithoutPadding, RowsAreWholeAndTheBlockStaysAboutAsLarge) {
  const auto made = retileWithoutPadding(sum({4000, 4000}, 256).package());
  ASSERT_TRUE(made);
  EXPECT_THAT(made->signature.grid, ElementsAre(125, 1));
  for (const auto& window : made->signature.windows) EXPECT_THAT(window->bounds, ElementsAre(32, 4000));
  EXPECT_THAT(blockOf(sum({1024, 1000}, 256)), ElementsAre(128, 1000)) << "one axis has a partial block: both are cut";
}

TEST(RetileWithoutPadding, SmallArraysAreOneBlock) {
  EXPECT_THAT(blockOf(sum({250, 250}, 128)), ElementsAre(250, 250));
}

TEST(RetileWithoutPadding, BlocksBeginAtCacheLines) {
  EXPECT_THAT(blockOf(sum({1000, 1000}, 256)), ElementsAre(100, 1000)) << "not 125 rows of 4000 bytes";
  EXPECT_THAT(blockOf(sum({1000, 1000}, 256, "i8")), ElementsAre(40, 1000)) << "nor of 1000";
}

TEST(RetileWithoutPadding, SizesWithoutDivisors) {
  EXPECT_THAT(blockOf(sum({251, 1000}, 256)), ElementsAre(251, 1000)) << "not row by row";
  EXPECT_THAT(blockOf(sum({1009, 1000}, 256)), ElementsAre(131, 1000)) << "the last one is partial, in whole rows";
}

TEST(RetileWithoutPadding, BlocksOfWholeRowsStay) {
  EXPECT_FALSE(retileWithoutPadding(sum({256, 128}, 128).package()));
}

TEST(RetileWithoutPadding, PiecesOfRowsAreJoined) {
  EXPECT_THAT(blockOf(sum({4096, 4096}, 256)), ElementsAre(16, 4096)) << "as many elements as before";
  EXPECT_THAT(blockOf(sum({256, 1 << 20}, 256)), ElementsAre(1, 65536)) << "as much of a row as a block has";
  EXPECT_THAT(blockOf(sum({256, 256}, 128)), ElementsAre(256, 256)) << "as much as is worth a step";
}

TEST(RetileWithoutPadding, ChecksAskForNoMoreThanBlocksInside) {
  EXPECT_FALSE(retilePartialBlocks(sum({4096, 4096}, 256).package()));
  EXPECT_TRUE(retilePartialBlocks(sum({4000, 4000}, 256).package()));
  const auto rewrites = [](const Shape& shape) {
    const auto checked = withChecks(sum(shape, 256).package());
    return checked ? checked->rewrites : std::vector<std::string>{checked.error().reason};
  };
  EXPECT_EQ(rewrites({4096, 4096}), std::vector<std::string>());
  EXPECT_EQ(rewrites({4000, 4000}), std::vector<std::string>{"retile-without-padding"}) << "printed with --check";
}

TEST(RetileWithoutPadding, PiecesOfOtherRowsStay) {
  TextKernel k({4, 4}, "parallel,parallel");
  const Val x = k.input({.array = {64, 48}, .block = {16, 48}, .map = "%i, %c0"});
  const Val y = k.input({.array = {48, 64}, .block = {48, 16}, .map = "%c0, %j"});
  const Val o = k.output({.array = {64, 64}, .block = {16, 16}, .map = "%i, %j"});
  const std::string type = "vector<16x16xf32>";
  k.raw(fmt::format("%zero = arith.constant dense<0.0> : {}", type));
  k.raw(
      fmt::format("%product = tpu.matmul {}, {}, %zero {{dimension_numbers = "
                  "#tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = "
                  "false}} : vector<16x48xf32>, vector<48x16xf32>, {} -> {}",
                  k.load(x).name, k.load(y).name, type, type));
  k.store({"%product", type}, o);
  EXPECT_FALSE(retileWithoutPadding(k.package())) << "a product's blocks are chosen elsewhere";
}

/// Each block of rows with the sums over its own rows: of pairs of columns, added up for each column.
TEST(RetileWithoutPadding, BlocksThatAProductSumsOverStay) {
  TextKernel k({3}, "parallel");
  const Spec rows{.array = {40, 16}, .block = {16, 16}, .map = "%i, %c0"};
  const Val x = k.input(rows), o = k.output(rows);
  const Val v = k.load(x);
  k.raw("%zero = arith.constant dense<0.0> : vector<16x16xf32>\n%none = arith.constant dense<0.0> : vector<16xf32>");
  k.raw(
      fmt::format("%pairs = tpu.matmul {0}, {0}, %zero {{dimension_numbers = #tpu.dot_dimension_numbers<[0], [0], "
                  "[1], [1], [0, 1, 1, 1], [], []>, transpose_lhs_hint = false}} : {1}, {1}, {1} -> {1}",
                  v.name, v.type));
  k.raw(fmt::format("%sums = vector.multi_reduction <add>, %pairs, %none [0] : {} to vector<16xf32>", v.type));
  k.raw("%row = vector.shape_cast %sums : vector<16xf32> to vector<1x16xf32>");
  k.raw(fmt::format("%all = vector.broadcast %row : vector<1x16xf32> to {}", v.type));
  k.store(k.binary("arith.addf", v, {"%all", v.type}), o);
  EXPECT_FALSE(retileWithoutPadding(k.package()));
}

TEST(RetileWithoutPadding, ValuesAreTheSame) {
  for (const Shape& shape : {Shape{37, 100}, Shape{3, 5}, Shape{64, 65}, Shape{400, 500}, Shape{1009, 150}})
    for (const auto& [name, dtype] :
         {std::pair("f32", DType::f32), std::pair("bf16", DType::bf16), std::pair("i8", DType::i8)})
      expectSame(sum(shape, 32, name), {numbers(shape, dtype), numbers(shape, dtype)});
}

/// x over the sum of its row, in blocks of some rows; `columns` of a block.
TextKernel quotients(const Shape& shape, int64_t rows, int64_t columns, const std::string& dims = "[1]") {
  TextKernel k({(shape[0] + rows - 1) / rows, (shape[1] + columns - 1) / columns}, "parallel,parallel");
  const Spec part{.array = shape, .block = {rows, columns}, .map = "%i, %j"};
  const Val x = k.input(part), o = k.output(part), v = k.load(x);
  const bool ofRows = dims == "[1]";
  const auto type = [](int64_t a, int64_t b) { return fmt::format("vector<{}x{}xf32>", a, b); };
  const std::string one = fmt::format("vector<{}xf32>", ofRows ? rows : columns);
  const std::string column = ofRows ? type(rows, 1) : type(1, columns), whole = type(rows, columns);
  k.raw(fmt::format("%zero = arith.constant dense<0.0> : {}", one));
  k.raw(fmt::format("%sum = vector.multi_reduction <add>, {}, %zero {} : {} to {}", v.name, dims, whole, one));
  k.raw(fmt::format("%column = vector.shape_cast %sum : {} to {}", one, column));
  k.raw(fmt::format("%all = vector.broadcast %column : {} to {}", column, whole));
  k.store(k.binary("arith.divf", v, {"%all", whole}), o);
  return k;
}

TEST(RetileWithoutPadding, RowsGoThroughTheirSums) {
  const TextKernel k = quotients({30, 40}, 8, 40);
  EXPECT_THAT(blockOf(k), ElementsAre(30, 40));
  expectSame(k, {f32Array({30, 40}, [](int64_t i) { return static_cast<float>(i % 13 + 1); })});
}

TEST(RetileWithoutPadding, AccumulatedAxesKeepTheirBlocks) {
  EXPECT_THAT(blockOf(quotients({30, 40}, 8, 16)), ElementsAre(30, 16)) << "the columns are summed";
  EXPECT_THAT(blockOf(quotients({30, 40}, 8, 16, "[0]")), ElementsAre(8, 40)) << "the rows are";
  const TextKernel undefined = quotients({30, 40}, 8, 16);
  const auto checked = compileChecked(undefined.package(), {});
  ASSERT_TRUE(checked && checked->kernel);
  const auto got = checked->kernel->call(std::vector{counting({30, 40})}, 1);
  EXPECT_TRUE(got && !*got) << "what lies past the columns' end is in the sums";
}

TEST(RetileWithoutPadding, NothingFromPastTheEnd) {
  const TextKernel k = sum({37, 100}, 32);
  const auto got = same(k, {numbers({37, 100}, DType::f32), numbers({37, 100}, DType::f32)});
  ASSERT_EQ(got.size(), 1);
  EXPECT_THAT(floats(got[0]), Each(::testing::Truly([](float v) { return std::isfinite(v); })));
}

TEST(RetileWithoutPadding, AnAxisWhoseIndexIsUsedKeepsItsSteps) {
  TextKernel k({2, 2}, "parallel,parallel");
  const Spec part{.array = {50, 60}, .block = {32, 32}, .map = "%i, %j"};
  const Val x = k.input(part), o = k.output(part);
  k.store(k.binary("arith.addf", k.load(x), k.splat(k.toFloat(k.id(0)), {32, 32})), o);
  EXPECT_THAT(blockOf(k), ElementsAre(32, 60));
  expectSame(k, {counting({50, 60})});
}

TEST(RetileWithoutPadding, StepsThatSeeEachOtherStay) {
  TextKernel reads({2, 2});
  const Spec part{.array = {50, 60}, .block = {32, 32}, .map = "%i, %j"};
  const Val x = reads.input(part), o = reads.output(part), scratch = reads.scratch("f32", {32, 32});
  reads.store(reads.load(x), scratch);
  reads.store(reads.load(scratch), o);
  EXPECT_FALSE(retileWithoutPadding(reads.package()));
  TextKernel again({2, 2});
  const Val y = again.input(part), p = again.output({.array = {32, 60}, .block = {32, 32}, .map = "%c0, %j"});
  again.store(again.load(y), p);
  EXPECT_FALSE(retileWithoutPadding(again.package())) << "the last step of a column wins";
}

TEST(RetileWithoutPadding, WhatAStoreReplacesMayBeLoaded) {
  TextKernel k({2, 2});
  const Spec part{.array = {50, 60}, .block = {32, 32}, .map = "%i, %j"};
  const Val x = k.input(part), o = k.output(part);
  const Val v = k.load(x);
  k.load(o);
  k.store(v, o);
  EXPECT_THAT(blockOf(k), ElementsAre(50, 60));
  same(k, {counting({50, 60})});
}

TEST(RetileWithoutPadding, ArraysOfOtherSizesKeepTheirSteps) {
  TextKernel k({2, 2});
  const Val x = k.input({.array = {50, 60}, .block = {32, 32}, .map = "%i, %j"});
  const Val o = k.output({.array = {64, 64}, .block = {32, 32}, .map = "%i, %j"});
  k.store(k.load(x), o);
  EXPECT_FALSE(retileWithoutPadding(k.package()));
}

}  // namespace
}  // namespace smalti::cpu::testing
