// Rows that are read several times: divided by a value per row, summed, prefetched.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>

#include "../../SpecialFloats.h"
#include "../RowKernels.h"
#include "cpu/inspect/Inspect.h"
#include "cpu/plan/KernelPlan.h"

namespace smalti::cpu::testing {
namespace {

Val sumOfRow(TextKernel& k, const Val& v, const Shape& shape) { return reducedRows(k, "add", v, shape, 0); }

/// Each row by an element of another array.
TextKernel divided(const Shape& shape) {
  TextKernel k;
  const Val x = k.input({.array = shape}), y = k.input({.array = {shape[0], 1}}), o = k.output({.array = shape});
  k.store(k.binary("arith.divf", k.load(x), wide(k, k.load(y), shape)), o);
  return k;
}

/// The first nest of its plan. Tests look at the code itself only where it depends on the choice of instructions.
NestSummary nestOf(const TextKernel& k, const Processor& processor = hostProcessor()) {
  auto made = inspectNative(k.package(), {.processor = processor});
  EXPECT_TRUE(made) << made.error().str();
  return made->report.plan->nests.at(0);
}

/// x / sum(x * x), in some steps.
TextKernel normalised(const Shape& block, int64_t steps = 1) {
  TextKernel k({steps}, "parallel");
  const Spec rows{.array = {steps * block[0], block[1]}, .block = block, .map = "%i, %c0"};
  const Val x = k.input(rows), o = k.output(rows);
  const Val v = k.load(x);
  k.store(k.binary("arith.divf", v, sumOfRow(k, k.binary("arith.mulf", v, v), block)), o);
  return k;
}

std::string assembly(const TextKernel& k, const Processor& processor = hostProcessor()) {
  auto made = inspectNative(k.package(), {.processor = processor});
  EXPECT_TRUE(made) << made.error().str();
  return made ? made->assembly : "";
}
bool has(const std::string& text, const char* what) { return text.find(what) != std::string::npos; }

/// With one NaN for all: the sign and payload of a NaN from arithmetic are unspecified (docs/cpu.md).
Array withOneNan(const Array& array) {
  Array result = array.clone().value();
  for (float& x : std::span(result.as<float>(), static_cast<size_t>(result.elements())))
    if (std::isnan(x)) x = kNan;
  return result;
}

TEST(Rows, QuotientsAreRoundedCorrectlyWhateverTheDivisor) {
  const std::vector<float> divisors{3,    -7,     0.1f,    1,     0,         -0.0f,       kInf,   -kInf,
                                    kNan, 1e-39f, -1e-38f, 3e38f, 0x1p-125f, -0x1.8p125f, 1e-30f, 1e30f};
  const auto rows = static_cast<int64_t>(divisors.size());
  for (const int64_t columns : {100, 128, 1000, 1024, 1027}) {
    const Array y = f32Array({rows, 1}, [&](int64_t i) { return divisors[static_cast<size_t>(i)]; });
    const std::vector<float> special{0, -0.0f, kInf, -kInf, kNan, 3e38f, -3e38f, 1, -3};
    const Array x = f32Array({rows, columns}, [&](int64_t i) {
      if (i % 16 == 0) return special[static_cast<size_t>(i / 16) % special.size()];
      return std::ldexp(1 + static_cast<float>(i * 7919 % 8388608) * 0x1p-23f, static_cast<int>(i % 61) - 30);
    });
    const TextKernel k = divided({rows, columns});
    const auto got = run(k, {x, y});
    ASSERT_TRUE(got);
    EXPECT_EQ(difference(withOneNan((*got)[0]), withOneNan(results(k, {x, y})[0])), "") << columns << " columns";
  }
}

TEST(Rows, AreDividedByReciprocals) {
  EXPECT_EQ(nestOf(divided({8, 1024})).reciprocals, 1);
  EXPECT_EQ(nestOf(divided({8, 64})).reciprocals, 0);
  if (!hostProcessor().triple.starts_with("x86_64")) GTEST_SKIP() << "looks for instructions of x86";
  EXPECT_TRUE(has(assembly(divided({8, 1024})), "vminps"))
      << "special quotients take no comparison, which would take a multiply-add's place";
}

TEST(Rows, ProductsAreAddedAsTheyAre) {
  if (!hostProcessor().avx512) GTEST_SKIP() << "looks for instructions of AVX-512";
  const Shape shape{8, 1024};
  TextKernel k;
  const Val x = k.input({.array = shape}), o = k.output({.array = shape});
  const Val v = k.load(x);
  k.store(sumOfRow(k, k.binary("arith.mulf", v, v), shape), o);
  EXPECT_FALSE(has(assembly(k), "vmulps"));
  // Squares of whole numbers: sums are exact in any order.
  same(k, {f32Array(shape, [](int64_t i) { return static_cast<float>(i % 64); })});
}

TEST(Rows, OfNarrowIntegersAreConvertedInVectors) {
  if (!hostProcessor().triple.starts_with("x86_64")) GTEST_SKIP() << "looks for instructions of x86";
  for (const char* to : {"i32", "i8"}) {
    const Shape shape{8, 1024};
    TextKernel k;
    const Val x = k.input({.array = shape}), o = k.output({.dtype = to, .array = shape});
    const Val v = k.load(x), whole = k.fresh("vector<8x1024x" + std::string(to) + ">");
    k.raw(whole.name + " = arith.fptosi " + v.name + " : " + v.type + " to " + whole.type);
    k.store(whole, o);
    const std::string code = assembly(k);
    EXPECT_TRUE(has(code, "vcvttps2dq")) << to;
    EXPECT_FALSE(has(code, "vcvttss2si")) << to;
  }
}

TEST(Rows, ArePrefetchedUnlessInL1) {
  EXPECT_GT(nestOf(normalised({64, 1024})).prefetchRows, 0);
  EXPECT_EQ(nestOf(normalised({4, 256})).prefetchRows, 0);
}

TEST(Rows, ArePrefetchedIntoL2WhereL1IsSmall) {
  Processor small = *processorNamed("x86_64-unknown-linux-gnu/znver4");
  small.l3Bytes = 1 << 10;
  small.l1Bytes = 32 << 10;
  Processor roomy = small;
  roomy.l1Bytes = 48 << 10;
  const TextKernel shortRows = normalised({8, 1024}, 8), longRows = normalised({8, 4096}, 8);
  const auto level = [](const TextKernel& k, const Processor& p) { return nestOf(k, p).prefetchLevel; };
  EXPECT_EQ(level(longRows, roomy), 1);
  EXPECT_EQ(level(longRows, small), 2);
  EXPECT_EQ(level(shortRows, small), 1) << "L1 has room for one of them and the row that is stored";
}

TEST(Rows, MasksOfFunctionsStayInMaskRegisters) {
  if (!hostProcessor().avx512) GTEST_SKIP() << "looks for instructions of AVX-512";
  TextKernel k;
  const Shape shape{8, 1024};
  const Val x = k.input({.array = shape}), o = k.output({.array = shape}), v = k.load(x), y = k.fresh(v.type);
  k.raw(fmt::format("{} = math.exp {} : {}", y.name, v.name, v.type));
  k.store(y, o);
  EXPECT_FALSE(has(assembly(k), "kmov"));
}

TEST(Rows, OfAnyNumberAndLength) {
  for (const int64_t columns : {256, 1000, 4096})
    for (const int64_t rows : {1, 2, 5, 64}) {
      const Shape shape{rows, columns};
      same(normalised(shape), {f32Array(shape, [](int64_t i) { return static_cast<float>(i * 13 % 64); })});
    }
}

/// x / y for a product with 1 / y that overflows.
TEST(Rows, QuotientsThatRoundToTheLargestNumber) {
  const Shape shape{8, 128};
  const auto filled = [](const Shape& of, float value) { return f32Array(of, [=](int64_t) { return value; }); };
  for (const auto& [x, y] : {std::pair{0x1.fffffcp127F, 0x1.fffffep-1F},
                             {-0x1.fffffcp34F, 0x1.fffffep-94F},
                             {0x1.fffffep127F, 0x1.fffffep-1F},
                             {0x1.fffffep127F, .5F},
                             {INFINITY, 3.F},
                             {-INFINITY, 3.F}}) {
    const auto results = same(divided(shape), {filled(shape, x), filled({shape[0], 1}, y)});
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(floats(results[0])[0], x / y) << x << " / " << y;
  }
}

/// Of two stores, the first reads what the second overwrites; the second needs a load that is in memory by then, of
/// memory that the first one writes elsewhere.
TEST(Rows, AStoreDoesNotWaitForALoadThatIsInMemory) {
  const Shape row{1, 64};
  TextKernel k;
  const Val x = k.input({.array = row}), o = k.output({.array = row}), last = k.output({.array = row});
  const Val a = k.scratch("f32", row), b = k.scratch("f32", row);
  const auto element = [&](const Val& v, int column) {
    const Val r = k.fresh("vector<1x1xf32>");
    k.raw(
        fmt::format("{} = vector.extract_strided_slice {} {{offsets = [0, {}], sizes = [1, 1], strides = [1, 1]}} : {} "
                    "to {}",
                    r.name, v.name, column, v.type, r.type));
    return r;
  };
  const std::vector<Val> start{k.constant(0), k.constant(0)};
  for (const Val& ref : {o, last, a, b}) k.store(k.load(x), ref);
  const Val early = wide(k, k.load(o, {1, 1}, {k.constant(0), k.constant(21)}), row);
  const Val sum = sumOfRow(k, k.load(a), row);
  k.store(element(k.binary("arith.subf", wide(k, element(k.load(b), 33), row), sum), 57), o,
          {k.constant(0), k.constant(6)});
  k.store(k.binary("arith.subf", sum, early), b, start);
  k.store(k.load(b), last, start);
  same(k, {counting(row)});
}

}  // namespace
}  // namespace smalti::cpu::testing
