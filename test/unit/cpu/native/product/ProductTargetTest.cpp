// Products that are stored to memory which other ops read before and after the store: operands, other terms of a sum,
// values that are needed later. Whether a product may be computed in the memory of its store is compared with the
// machine for kernels at random.
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../../../LongTest.h"
#include "../SmallProducts.h"

namespace smalti::cpu::testing {
namespace {

constexpr int64_t kRows = 160, kColumns = 192;  // of the memory, and of the other matrix

/// A kernel with one product of parts of two matrices: of scratch, to which the product is stored, and of an input.
class RandomTarget {
 public:
  explicit RandomTarget(unsigned seed) : random_(seed) {}

  void check() {
    dtype_ = oneOf({0, 0, 1}) ? "bf16" : "f32";
    const Val first = k_.input({.dtype = dtype_, .array = {kRows, kColumns}}),
              other = k_.input({.dtype = dtype_, .array = {kRows, kColumns}});
    memory_ = k_.scratch(dtype_, {kRows, kColumns});
    k_.store(k_.load(first), memory_);
    const int64_t m = oneOf({1, 2, 8, 16, 40}), n = oneOf({8, 16, 40, 128}), depth = oneOf({8, 16, 48});
    const bool transposed = oneOf({0, 1}) == 1;
    const Shape right = transposed ? Shape{n, depth} : Shape{depth, n};
    const Val a = part(oneOf({0, 1}) ? memory_ : other, {m, depth});
    const Val early = part(memory_, {m, n});
    const Val b = oneOf({0, 1, 2}) == 0 ? concatenated(other, right) : part(oneOf({0, 1}) ? memory_ : other, right);
    const std::vector<Val> to = place({m, n});
    const bool rounds = dtype_ == "f32" && oneOf({0, 1}) == 1;
    const auto operand = [&](const Val& v) { return rounds ? converted("arith.truncf", v, "bf16") : v; };
    Val sum = multiplied(k_, operand(a), operand(b), transposed, k_.splat(k_.f32(0), {m, n}));
    if (const int64_t term = oneOf({0, 1, 2, 3}); term > 0) {
      const Val added = term == 1 ? k_.load(memory_, {m, n}, to) : part(term == 2 ? memory_ : other, {m, n});
      sum = k_.binary("arith.addf", sum, dtype_ == "f32" ? added : converted("arith.extf", added, "f32"));
    }
    k_.store(dtype_ == "f32" ? sum : converted("arith.truncf", sum, "bf16"), memory_, to);
    write(k_.load(memory_), {kRows, kColumns});
    if (oneOf({0, 1})) write(early, {m, n});
    if (oneOf({0, 1})) write(a, {m, depth});
    if (oneOf({0, 1})) write(b, right);
    SCOPED_TRACE(k_.text());
    NativeOptions options;  // without dot products of bf16, few rows round the other operand as they read it
    if (rounds) options.processor = processorNamed("x86_64-unknown-linux-gnu/haswell").value();
    same(k_, {smallNumbers(dtype_, {kRows, kColumns}), smallNumbers(dtype_, {kRows, kColumns}, 3)}, options);
  }

 private:
  int64_t oneOf(std::initializer_list<int64_t> all) { return all.begin()[random_() % all.size()]; }

  /// Where a part of the matrices may begin. Few places, so that parts often overlap.
  std::vector<Val> place(const Shape& shape) {
    const auto start = [&](int64_t room) { return k_.constant(static_cast<int32_t>(oneOf({0, room, room / 2, 1}))); };
    return {start(kRows - shape[0]), start(kColumns - shape[1])};
  }
  Val part(const Val& ref, const Shape& shape) { return k_.load(ref, shape, place(shape)); }

  /// Half of the rows from the memory, half from the other matrix.
  Val concatenated(const Val& other, const Shape& shape) {
    const Shape half{shape[0] / 2, shape[1]};
    const Val x = part(memory_, half), y = part(other, half);
    const Val all = k_.fresh(fmt::format("vector<{}x{}x{}>", shape[0], shape[1], dtype_));
    k_.raw(fmt::format("{} = tpu.concatenate {}, {} in 0 : {}, {} -> {}", all.name, x.name, y.name, x.type, y.type,
                       all.type));
    return all;
  }

  Val converted(const std::string& op, const Val& from, const std::string& dtype) {
    const Shape shape = machine::testing::shapeIn(from.type);
    const Val to = k_.fresh(fmt::format("vector<{}x{}x{}>", shape[0], shape[1], dtype));
    k_.raw(fmt::format("{} = {} {} : {} to {}", to.name, op, from.name, from.type, to.type));
    return to;
  }

  void write(const Val& value, const Shape& shape) { k_.store(value, k_.output({.dtype = dtype_, .array = shape})); }

  std::mt19937 random_;
  TextKernel k_;
  std::string dtype_;
  Val memory_;
};

TEST(ProductTarget, IsNotReadAfterItIsOverwritten) {
  SMALTI_LONG_TEST_OF_GENERATED_CODE();
  constexpr unsigned kKernels = 150;
  for (unsigned seed = 0; seed < kKernels && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("kernel {}", seed));
    RandomTarget(seed).check();
  }
}

/// What is added was loaded from the memory of the store, which an earlier store has changed since.
TEST(ProductTarget, IsNotWhatIsAddedAfterAnotherStore) {
  TextKernel k;
  const Val a = k.input({.dtype = "f32", .array = {8, 32}}), b = k.input({.dtype = "f32", .array = {32, 32}});
  const Val memory = k.scratch("f32", {8, 32});
  k.store(k.load(a), memory);
  const Val x = k.load(a), y = k.load(b), zero = k.splat(k.f32(0), {8, 32}), early = k.load(memory);
  k.store(multiplied(k, x, y, false, zero), memory);
  k.store(k.binary("arith.addf", multiplied(k, x, y, false, zero), early), memory);
  k.store(k.load(memory), k.output({.dtype = "f32", .array = {8, 32}}));
  same(k, {smallNumbers("f32", {8, 32}), smallNumbers("f32", {32, 32}, 3)});
}

}  // namespace
}  // namespace smalti::cpu::testing
