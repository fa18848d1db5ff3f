// Parts of vectors that go from memory to memory: stored part by part, loaded alone, reshaped where they are.
#include "cpu/rewrite/DivideMoves.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../native/Native.h"
#include "cpu/rewrite/UnwrittenLoads.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string f32Vector(const Shape& shape) { return fmt::format("vector<{}xf32>", fmt::join(shape, "x")); }

/// Kernels of one input and one output, or two.
struct Moves : TextKernel {
  Val x, o;
  Moves(const Shape& from, const Shape& to)
      : x(input({.array = from, .space = "vmem"})), o(output({.array = to, .space = "vmem"})) {}

  Val slice(const Val& v, const Shape& offsets, const Shape& sizes) {
    const Val part = fresh(f32Vector(sizes));
    raw(fmt::format("{} = vector.extract_strided_slice {} {{offsets = [{}], sizes = [{}], strides = [{}]}} : {} to {}",
                    part.name, v.name, fmt::join(offsets, ", "), fmt::join(sizes, ", "),
                    fmt::join(Shape(sizes.size(), 1), ", "), v.type, part.type));
    return part;
  }
  Val concatenate(const std::vector<Val>& parts, int dim, const Shape& to) {
    const Val joined = fresh(f32Vector(to));
    std::vector<std::string> names, types;
    for (const Val& part : parts) {
      names.push_back(part.name);
      types.push_back(part.type);
    }
    raw(fmt::format("{} = tpu.concatenate {} in {} : {} -> {}", joined.name, fmt::join(names, ", "), dim,
                    fmt::join(types, ", "), joined.type));
    return joined;
  }
  Val cast(const Val& v, const Shape& to) {
    const Val shaped = fresh(f32Vector(to));
    raw(fmt::format("{} = vector.shape_cast {} : {} to {}", shaped.name, v.name, v.type, shaped.type));
    return shaped;
  }
  Val transpose(const Val& v, const Shape& permutation, const Shape& to) {
    const Val turned = fresh(f32Vector(to));
    raw(fmt::format("{} = tpu.transpose {}, [{}] : {} -> {}", turned.name, v.name, fmt::join(permutation, ", "), v.type,
                    turned.type));
    return turned;
  }
};

TEST(DivideMoves, ConcatenationsAreStoredInParts) {
  for (const int dim : {0, 1}) {
    const Shape half = dim == 0 ? Shape{8, 64} : Shape{16, 32};
    Moves k({16, 64}, {16, 64});
    const Val v = k.load(k.x), second = dim == 0 ? k.slice(v, {8, 0}, half) : k.slice(v, {0, 32}, half);
    k.store(k.concatenate({second, k.slice(v, {0, 0}, half)}, dim, {16, 64}), k.o);
    const auto made = divideMoves(k.package());
    ASSERT_TRUE(made);
    EXPECT_THAT(text(*made), Not(HasSubstr("tpu.concatenate")));
    EXPECT_THAT(text(*made), Not(HasSubstr("extract_strided_slice")));
    same(k, {counting({16, 64})});
  }
}

TEST(DivideMoves, NestedConcatenationsAreDividedInTurn) {
  Moves k({4, 8, 16}, {6, 10, 16});  // a border of zeros
  const Val zero = k.f32(0);
  const Val rows = k.concatenate({k.splat(zero, {1, 8, 16}), k.load(k.x), k.splat(zero, {1, 8, 16})}, 0, {6, 8, 16});
  k.store(k.concatenate({k.splat(zero, {6, 1, 16}), rows, k.splat(zero, {6, 1, 16})}, 1, {6, 10, 16}), k.o);
  const auto made = divideMoves(k.package());
  ASSERT_TRUE(made);
  EXPECT_THAT(text(*made), Not(HasSubstr("tpu.concatenate")));
  same(k, {counting({4, 8, 16})});
}

/// What is stored was loaded before from the same memory.
TEST(DivideMoves, PartsMayOverwriteWhatTheyWereLoadedFrom) {
  Moves k({16, 64}, {16, 64});
  k.store(k.load(k.x), k.o);
  const Val v = k.load(k.o);
  k.store(k.concatenate({k.slice(v, {5, 0}, {11, 64}), k.slice(v, {0, 0}, {5, 64})}, 0, {16, 64}), k.o);
  ASSERT_TRUE(divideMoves(k.package()));
  same(k, {counting({16, 64})});
}

TEST(DivideMoves, ConcatenationsWithOtherUsersStay) {
  Moves k({16, 64}, {32, 64});
  const Val other = k.output({.array = {32, 64}, .space = "vmem"});
  const Val v = k.load(k.x), joined = k.concatenate({v, v}, 0, {32, 64});
  k.store(joined, k.o);
  k.store(joined, other);
  EXPECT_FALSE(divideMoves(k.package()));
  same(k, {counting({16, 64})});
}

TEST(DivideMoves, ShortPartsOfRowsStay) {
  Moves k({16, 4}, {16, 8});
  const Val v = k.load(k.x);
  k.store(k.concatenate({v, v}, 1, {16, 8}), k.o);
  EXPECT_FALSE(divideMoves(k.package()));
  same(k, {counting({16, 4})});
}

/// A load that is needed whole is not repeated, and one that may read outside its ref is not made smaller.
TEST(DivideMoves, LoadsStayWhereTheirWholeMatters) {
  Moves whole({16, 64}, {16, 64});
  const Val part = whole.output({.array = {8, 64}, .space = "vmem"});
  const Val v = whole.load(whole.x);
  whole.store(whole.slice(v, {8, 0}, {8, 64}), part);
  whole.store(v, whole.o);
  EXPECT_FALSE(divideMoves(whole.package()));
  same(whole, {counting({16, 64})});
  Moves somewhere({16, 64}, {4, 64});
  const Val start = somewhere.scalarLoad(somewhere.prefetch("i32", {1}), {somewhere.constant(0)});
  const Val rows = somewhere.load(somewhere.x, {8, 64}, {start, somewhere.constant(0)});
  somewhere.store(somewhere.slice(rows, {4, 0}, {4, 64}), somewhere.o);
  EXPECT_FALSE(divideMoves(somewhere.package()));
  same(somewhere, {i32Array({1}, [](int64_t) { return 3; }), counting({16, 64})});
}

/// A pixel shuffle: dimensions are divided, exchanged and joined.
TEST(DivideMoves, ReshapesThatDivideDimensionsAreThoseOfRefs) {
  Moves k({4, 4, 64}, {8, 8, 16});
  const Val turned = k.transpose(k.cast(k.load(k.x), {4, 4, 2, 2, 16}), {0, 2, 1, 3, 4}, {4, 2, 4, 2, 16});
  k.store(k.cast(turned, {8, 8, 16}), k.o);
  const auto made = divideMoves(k.package());
  ASSERT_TRUE(made);
  EXPECT_THAT(text(*made), Not(HasSubstr("vector.shape_cast")));
  EXPECT_THAT(text(*made), HasSubstr("tpu.memref_reshape"));
  same(k, {counting({4, 4, 64})});
}

/// Blocks with gaps between their rows have no other reshapes.
TEST(DivideMoves, ReshapesThatJoinDimensionsOfARefStay) {
  TextKernel k({2});
  const Val x = k.input({.array = {8, 4, 32}, .block = {8, 4, 16}, .map = "%c0, %c0, %i"});
  const Val o = k.output({.array = {8, 64}, .block = {8, 64}, .map = "%c0, %c0"});
  const Val v = k.load(x), joined = k.fresh("vector<8x64xf32>");
  k.raw(fmt::format("{} = vector.shape_cast {} : {} to {}", joined.name, v.name, v.type, joined.type));
  k.store(k.binary("arith.addf", joined, joined), o);
  EXPECT_FALSE(divideMoves(k.package()));
  same(k, {counting({8, 4, 32})});
}

TEST(UnwrittenLoads, TransposesThatKeepRowsReadTheInput) {
  Moves k({6, 4, 16}, {4, 6, 16});
  k.store(k.transpose(k.load(k.x), {1, 0, 2}, {4, 6, 16}), k.o);
  const auto made = markUnwrittenLoads(k.package());
  ASSERT_TRUE(made);
  made->kernelFunction().walk([](mlir::Operation* op) {
    if (op->getName().getStringRef() != "tpu.transpose") return;
    EXPECT_TRUE(isReadInRows(*op));
    EXPECT_TRUE(isUnwrittenLoad(op->getOperand(0)));
  });
  same(k, {counting({6, 4, 16})});
}

/// The input is the array of an output, or the kernel copies to it: what was loaded may change before it is used.
TEST(UnwrittenLoads, InputsThatMayChangeAreCopied) {
  Moves aliased({6, 4, 16}, {6, 4, 16});
  aliased.alias(0, 0);
  const Val other = aliased.output({.array = {4, 6, 16}, .space = "vmem"});
  const Val turned = aliased.transpose(aliased.load(aliased.x), {1, 0, 2}, {4, 6, 16});
  aliased.store(aliased.splat(aliased.f32(7), {6, 4, 16}), aliased.o);
  aliased.store(turned, other);
  EXPECT_FALSE(markUnwrittenLoads(aliased.package()));
  same(aliased, {counting({6, 4, 16})});
  Moves copied({6, 4, 16}, {4, 6, 16});
  const Val zeros = copied.scratch("f32", {6, 4, 16});
  const Val before = copied.transpose(copied.load(copied.x), {1, 0, 2}, {4, 6, 16});
  copied.store(copied.splat(copied.f32(0), {6, 4, 16}), zeros);
  copied.store(copied.splat(copied.f32(1), {6, 4, 16}), copied.x);
  copied.store(before, copied.o);
  EXPECT_FALSE(markUnwrittenLoads(copied.package()));
}

TEST(UnwrittenLoads, MarksOfAModuleAreRemoved) {
  Moves other({6, 4, 16}, {6, 4, 16});
  other.alias(0, 0);
  other.store(other.load(other.x), other.o);
  KernelPackage package = other.package();
  package.kernelFunction().walk([](mlir::Operation* op) {
    if (op->getName().getStringRef() == "vector.load") op->setAttr("unwritten", mlir::UnitAttr::get(op->getContext()));
  });
  const auto made = markUnwrittenLoads(package);
  ASSERT_TRUE(made);
  EXPECT_THAT(text(*made), Not(HasSubstr("unwritten")));
}

}  // namespace
}  // namespace smalti::cpu::testing
