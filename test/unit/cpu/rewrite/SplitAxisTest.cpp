// Blocks along a grid axis that are divided into parts.
#include "cpu/rewrite/grid/SplitAxis.h"

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../../LongTest.h"
#include "../../Recordings.h"
#include "../native/Native.h"
#include "cpu/analysis/AxisDims.h"
#include "interop/Interop.h"

namespace smalti::cpu::testing {
namespace {

/// Numbers from -2 to 2, and 0 or 1 for integers, which may be looked up.
Array operandOf(const ArrayType& type, int64_t first) {
  Array a = Array::allocate(type).value();
  std::memset(a.data(), 0, static_cast<size_t>(type.bytes()));
  for (int64_t i = 0; i < a.elements(); ++i) {
    const auto number = static_cast<float>(((i + first) * 7 + (i + first) / 5) % 17 - 8) / 4;
    const uint32_t bits = std::bit_cast<uint32_t>(number);
    if (type.dtype == DType::f32)
      a.as<float>()[i] = number;
    else if (type.dtype == DType::bf16)
      a.as<uint16_t>()[i] = static_cast<uint16_t>(bits >> 16);
    else if (type.dtype == DType::i32)
      a.as<int32_t>()[i] = static_cast<int32_t>((i + first) / 3 % 2);
    else if (type.dtype == DType::i8)
      a.as<int8_t>()[i] = static_cast<int8_t>((i + first) % 3);
  }
  return a;
}

/// Absent: the machine refuses the operands.
std::optional<std::vector<Array>> results(const KernelPackage& package, const std::vector<Array>& operands) {
  auto compiled = machine::compileKernel(package, Numerics::f32);
  if (!compiled) return std::nullopt;
  auto result = machine::run(**compiled, std::vector<std::vector<Array>>{operands}, {}, {});
  if (!result) return std::nullopt;
  return result->results.at(0);
}

bool sameBytes(const std::vector<Array>& a, const std::vector<Array>& b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(a[i].data(), b[i].data(), static_cast<size_t>(a[i].type().bytes())) != 0) return false;
  return true;
}

/// Kernels that have been divided and run, of all that are given.
struct Tried {
  int divided = 0, kernels = 0;
};

void tryAll(const KernelPackage& package, const std::string& name, Tried& tried) {
  ++tried.kernels;
  std::vector<Array> operands;
  for (const ArrayType& type : package.operands)
    operands.push_back(operandOf(type, static_cast<int64_t>(operands.size())));
  std::optional<std::vector<Array>> expected;
  const auto dims = AxisDims::ofParts(package);
  for (int axis = 0; dims && axis < dims->rank(); ++axis)
    for (const int64_t parts : {2, 4}) {
      if (!dims->free(axis) || dims->block(axis) % parts != 0) continue;
      const auto made = splitAxis(package, axis, dims->block(axis) / parts);
      if (!made) continue;
      if (!expected && !(expected = results(package, operands))) return;
      const auto got = results(*made, operands);
      ASSERT_TRUE(got) << name << ", axis " << axis;
      EXPECT_TRUE(sameBytes(*got, *expected)) << name << ", axis " << axis << " in " << parts;
      ++tried.divided;
    }
}

Tried tryFolder(const std::filesystem::path& folder) {
  Tried tried;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".stablehlo.mlir") || path.find("versions") != std::string::npos) continue;
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    const auto program = interop::importStableHlo(text.str(), path);
    if (!program) continue;
    for (const KernelPackage& kernel : program->kernels) tryAll(kernel, path, tried);
  }
  return tried;
}

constexpr int64_t kRows = 16, kColumns = 32;
const Spec kBlocks{.array = {3 * kRows - 5, kColumns}, .block = {kRows, kColumns}, .map = "%i, %c0"};

/// o = f(x, index of the row, index of the block), where `more` adds to the kernel.
Tried tryRows(const std::function<void(TextKernel&, const Val& x)>& more = {}) {
  TextKernel k({3}, "parallel");
  const Val x = k.input(kBlocks), o = k.output(kBlocks);
  const std::string integers = fmt::format("vector<{}x{}xi32>", kRows, kColumns);
  const Val v = k.load(x), row = k.fresh(integers), number = k.fresh(v.type);
  k.raw(fmt::format("{} = tpu.iota {{dimensions = array<i32: 0>}} : {}", row.name, integers));
  const Val first = k.binary("arith.muli", k.id(0), k.constant(100));
  const Val sum = k.binary("arith.addi", row, k.splat(first, {kRows, kColumns}));
  k.raw(fmt::format("{} = arith.sitofp {} : {} to {}", number.name, sum.name, integers, v.type));
  k.store(k.binary("arith.addf", v, number), o);
  if (more) more(k, x);
  Tried tried;
  tryAll(k.package(), k.text(), tried);
  return tried;
}

TEST(SplitAxis, ScalarsKeepTheirValues) { EXPECT_EQ(tryRows().divided, 2) << "in two parts and in four"; }

TEST(SplitAxis, WhatHappensOncePerStepKeepsTheBlocks) {
  EXPECT_EQ(tryRows([](TextKernel& k, const Val&) {
              const Val counter = k.scratch("i32", {1}, "smem");
              k.scalarStore(k.binary("arith.addi", k.scalarLoad(counter, {k.constant(0)}), k.constant(1)), counter,
                            {k.constant(0)});
            }).divided,
            0);
  EXPECT_EQ(tryRows([](TextKernel& k, const Val&) { k.raw("tpu.log \"step\" : [%i] : i32"); }).divided, 0);
}

TEST(SplitAxis, RowsThatAreCombinedKeepTheBlocks) {
  EXPECT_EQ(tryRows([](TextKernel& k, const Val& x) {
              const Val total = k.scratch("f32", {kColumns}), v = k.load(x),
                        sum = k.fresh(fmt::format("vector<{}xf32>", kColumns));
              k.raw(fmt::format("{} = vector.multi_reduction <add>, {}, {} [0] : {} to {}", sum.name, v.name,
                                k.splat(k.f32(0), {kColumns}).name, v.type, sum.type));
              k.store(sum, total);
            }).divided,
            0);
}

/// A second axis of a grid, marked arbitrary, whose steps write blocks of their own; columns put together from copies.
TEST(SplitAxis, StepsWithBlocksOfTheirOwnAreIndependent) {
  TextKernel k({2, 3}, "parallel,arbitrary");
  const Spec blocks{.array = {2, 3 * kRows, kColumns}, .block = {1, kRows, kColumns}, .map = "%i, %j, %c0"};
  const Val x = k.input(blocks);
  const Val o =
      k.output({.array = {2, 3 * kRows, 2 * kColumns}, .block = {1, kRows, 2 * kColumns}, .map = "%i, %j, %c0"});
  const Val v = k.load(x), twice = k.fresh(fmt::format("vector<1x{}x{}xf32>", kRows, 2 * kColumns));
  k.raw(fmt::format("{} = tpu.concatenate {}, {} in 2 : {}, {} -> {}", twice.name, v.name, v.name, v.type, v.type,
                    twice.type));
  k.store(twice, o);
  Tried tried;
  tryAll(k.package(), k.text(), tried);
  EXPECT_EQ(tried.divided, 2);
}

TEST(SplitAxis, RecordedKernelsComputeTheSame) {
  SMALTI_LONG_TEST();
  const Tried own = tryFolder(std::filesystem::path(SMALTI_SOURCE_DIR) / "test/data/cases");
  std::cout << own.divided << " ways to divide " << own.kernels << " kernels\n";
  EXPECT_GE(own.divided, 4);
  if (!std::filesystem::exists(smalti::test::recordingsFolder())) return;
  const Tried others = tryFolder(smalti::test::recordingsFolder());
  std::cout << others.divided << " ways to divide " << others.kernels << " kernels\n";
  EXPECT_GE(others.divided, 40);
}

}  // namespace
}  // namespace smalti::cpu::testing
