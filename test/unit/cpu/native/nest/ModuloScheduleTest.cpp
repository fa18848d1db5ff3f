// Loops over columns whose trips run concurrently: the same values, however many trips there are.
#include <gtest/gtest.h>

#include "../RowKernels.h"
#include "cpu/inspect/Inspect.h"

namespace smalti::cpu::testing {
namespace {

/// x -> 1 / (x + 3), some times: each waits for the one before.
Val chain(TextKernel& k, Val v, const Shape& shape, int length) {
  for (int i = 0; i < length; ++i)
    v = k.binary("arith.divf", k.splat(k.f32(1), shape), k.binary("arith.addf", v, k.splat(k.f32(3), shape)));
  return v;
}

int64_t divisions(int64_t columns, int length) {
  TextKernel k;
  const Shape shape{1, columns};
  const Val in = k.input({.array = shape, .space = "vmem"}), out = k.output({.array = shape, .space = "vmem"});
  k.store(chain(k, k.load(in), shape, length), out);
  auto made = inspectNative(k.package(), {});
  EXPECT_TRUE(made) << made.error().str();
  int64_t found = 0;
  for (size_t at = 0; (at = made->assembly.find("divps", at)) != std::string::npos; ++at) ++found;
  return found;
}

TEST(ModuloSchedule, LongChainsOnly) {
  if (!hostProcessor().triple.starts_with("x86_64")) GTEST_SKIP() << "counts instructions of x86";
  EXPECT_EQ(divisions(4096, 8), 2 * 8 * (divisions(4096, 1)));
}

TEST(ModuloSchedule, EveryColumnOnce) {
  for (const int64_t columns : {64, 128, 192, 256, 320, 1000, 1024, 1027}) {
    const Shape shape{3, columns};
    TextKernel k;
    const Val in = k.input({.array = shape, .space = "vmem"}), out = k.output({.array = shape, .space = "vmem"});
    k.store(chain(k, k.load(in), shape, 4), out);
    same(k, {counting(shape)});
  }
}

TEST(ModuloSchedule, WithValuesKeptForLaterPhases) {
  for (const int64_t columns : {256, 1000, 1024}) {
    const Shape shape{5, columns};
    TextKernel k;
    const Val in = k.input({.array = shape, .space = "vmem"}), out = k.output({.array = shape, .space = "vmem"});
    const Val v = chain(k, k.load(in), shape, 4);
    k.store(k.binary("arith.subf", chain(k, v, shape, 3), reducedRows(k, "maximumf", v, shape, -1e30f)), out);
    same(k, {counting(shape)});
  }
}

TEST(ModuloSchedule, ConditionsOfTwoIterationsAreNotPacked) {
  NativeOptions options;
  options.processor = *processorNamed("x86_64-linux-gnu/znver3");
  TextKernel k;
  const Shape shape{4, 1024};
  const Val in = k.input({.array = shape, .space = "vmem"}), out = k.output({.array = shape, .space = "vmem"});
  const Val x = k.load(in), y = chain(k, x, shape, 4), isPositive = k.fresh("vector<4x1024xi1>"), z = k.fresh(x.type);
  const Val zero = k.splat(k.f32(0), shape);
  k.raw(isPositive.name + " = arith.cmpf ogt, " + x.name + ", " + zero.name + " : " + x.type);
  k.raw(z.name + " = arith.select " + isPositive.name + ", " + y.name + ", " + x.name + " : " + isPositive.type + ", " +
        x.type);
  k.store(z, out);
  auto made = inspectNative(k.package(), options);
  ASSERT_TRUE(made) << made.error().str();
  EXPECT_EQ(made->assembly.find("packsswb"), std::string::npos) << "into bytes, which registers without masks require";
  same(k, {f32Array(shape, [](int64_t i) { return static_cast<float>(i % 7 - 3); })});
}

TEST(ModuloSchedule, WithStoresToTheMemoryThatIsLoaded) {
  const Shape shape{4, 1000};
  TextKernel k;
  const Val in = k.input({.array = shape, .space = "vmem"}), out = k.output({.array = shape, .space = "vmem"});
  k.alias(0, 0);
  const Val part = k.load(out, {4, 640}, {k.constant(0), k.constant(128)});
  k.store(chain(k, part, {4, 640}, 4), out, {k.constant(0), k.constant(128)});
  const Val shifted = k.load(out, {4, 640}, {k.constant(0), k.constant(0)});
  k.store(chain(k, shifted, {4, 640}, 4), out, {k.constant(0), k.constant(256)});
  k.store(chain(k, k.load(in), shape, 4), in);
  same(k, {counting(shape)});
}

}  // namespace
}  // namespace smalti::cpu::testing
