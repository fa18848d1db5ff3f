// Products in other steps than the kernel's own.
#include "cpu/rewrite/grid/RetileMatmulGrid.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../native/Native.h"
#include "../native/RowKernels.h"
#include "../native/SmallProducts.h"

namespace smalti::cpu::testing {
namespace {

using ::testing::ElementsAre;

Processor processor() { return *processorNamed("x86_64-linux-gnu/znver4"); }

struct Sizes {
  int64_t m = 64, n = 256, k = 96, bm = 16, bn = 128, bk = 32;
};

/// What the epilogue asks for besides the last step.
enum class Epilogue { plain, lastAgain, firstToo };

/// acc = 0, then acc += x y in each step, then o = f(acc) in the last: the usual matmul.
class MatmulKernel {
 public:
  explicit MatmulKernel(const Sizes& s, const std::string& dtype = "f32", int64_t last = -1)
      : s_(s), k({(s.m + s.bm - 1) / s.bm, (s.n + s.bn - 1) / s.bn, s.k / s.bk}, "parallel,parallel,arbitrary") {
    const std::string sum = dtype == "i8" ? "i32" : "f32";
    x = k.input({.dtype = dtype, .array = {s.m, s.k}, .block = {s.bm, s.bk}, .map = "%i, %k"});
    y = k.input({.dtype = dtype, .array = {s.k, s.n}, .block = {s.bk, s.bn}, .map = "%k, %j"});
    o = k.output({.dtype = sum, .array = {s.m, s.n}, .block = {s.bm, s.bn}, .map = "%i, %j"});
    acc = k.scratch(sum, {s.bm, s.bn});
    k.when(k.compare("eq", k.id(2), k.constant(0)), [&] { store(zeros(sum), acc); });
    store(k.binary(sum == "f32" ? "arith.addf" : "arith.addi", k.load(acc),
                   multiplied(k, k.load(x), k.load(y), false, zeros(sum))),
          acc);
    const Val isLast = k.compare("eq", k.id(2), k.constant(static_cast<int32_t>(last < 0 ? s.k / s.bk - 1 : last)));
    const Val factor = k.fresh("f32"), one = k.f32(1), two = k.f32(2);
    if (choosesFactor)
      k.raw(fmt::format("{} = scf.if {} -> (f32) {{ scf.yield {} : f32 }} else {{ scf.yield {} : f32 }}", factor.name,
                        isLast.name, two.name, one.name));
    k.when(isLast, [&] {
      Val v = k.load(acc);
      if (choosesFactor) v = k.binary("arith.mulf", v, k.splat(factor, {s.bm, s.bn}));
      if (twice) v = k.binary(sum == "f32" ? "arith.addf" : "arith.addi", v, v);
      store(v, o);
      if (epilogue == Epilogue::lastAgain || epilogue == Epilogue::firstToo) {
        const auto step = epilogue == Epilogue::firstToo ? 0 : s.k / s.bk - 1;
        k.when(k.compare("eq", k.id(2), k.constant(static_cast<int32_t>(step))),
               [&] { store(k.binary("arith.addf", k.load(acc), k.load(acc)), o); });
      }
    });
  }
  std::optional<KernelPackage> retileMatmulGrid(int cores = 1) const {
    return smalti::cpu::retileMatmulGrid(k.package(), processor(), cores);
  }
  void run() {
    const DType dtype = x.type.find("i8") != std::string::npos ? DType::i8 : DType::f32;
    same(k, {numbers({s_.m, s_.k}, dtype), numbers({s_.k, s_.n}, dtype)});
  }

 private:
  void store(const Val& value, const Val& ref) {
    if (loadsWhatItReplaces) k.load(ref);
    k.store(value, ref);
  }
  /// Small whole numbers: their sums are exact in any order.
  static Array numbers(const Shape& shape, DType dtype) {
    Array a = Array::allocate({dtype, shape}).value();
    for (int64_t i = 0; i < a.elements(); ++i) {
      const auto v = static_cast<int>(i * 7 % 23) - 11;
      if (dtype == DType::f32)
        a.as<float>()[i] = static_cast<float>(v);
      else
        a.as<int8_t>()[i] = static_cast<int8_t>(v);
    }
    return a;
  }
  std::string vectorType(const std::string& sum) const { return fmt::format("vector<{}x{}x{}>", s_.bm, s_.bn, sum); }
  Val zeros(const std::string& sum) {
    const Val v = k.fresh(vectorType(sum));
    k.raw(fmt::format("{} = arith.constant dense<{}> : {}", v.name, sum == "f32" ? "0.0" : "0", v.type));
    return v;
  }
  Sizes s_;

 public:
  static inline bool twice = false;
  static inline bool choosesFactor = false;
  static inline Epilogue epilogue = Epilogue::plain;
  static inline bool loadsWhatItReplaces = false;
  TextKernel k;
  Val x, y, o, acc;
};

TEST(RetileMatmulGrid, TheReductionIsOneStepAndTheAccumulatorIsRemoved) {
  MatmulKernel matmul({});
  const auto made = matmul.retileMatmulGrid();
  ASSERT_TRUE(made);
  EXPECT_THAT(made->signature.grid, ElementsAre(1, 1, 1));
  EXPECT_EQ(made->signature.numScratch, 0);
  EXPECT_THAT(made->signature.windows[0]->bounds, ElementsAre(64, 96));
  EXPECT_THAT(made->signature.windows[1]->bounds, ElementsAre(96, 256));
  matmul.run();
  MatmulKernel bytes({}, "i8");
  EXPECT_TRUE(bytes.retileMatmulGrid());
  bytes.run();
}

TEST(RetileMatmulGrid, CoresGetPartsOfTheColumns) {
  MatmulKernel matmul({.m = 256, .n = 512, .k = 256, .bm = 256, .bn = 512, .bk = 128});
  const auto made = matmul.retileMatmulGrid(2);
  ASSERT_TRUE(made);
  EXPECT_THAT(made->signature.grid, ElementsAre(1, 8, 1));
  EXPECT_THAT(made->signature.windows[2]->bounds, ElementsAre(256, 64));
  matmul.run();
}

TEST(RetileMatmulGrid, SmallProductsAreNotCutFine) {
  const Sizes sizes{.m = 256, .n = 256, .k = 256, .bm = 256, .bn = 256, .bk = 128};
  EXPECT_THAT(MatmulKernel(sizes).retileMatmulGrid(2)->signature.grid, ElementsAre(1, 4, 1));
  EXPECT_THAT(MatmulKernel(sizes, "i8").retileMatmulGrid(2)->signature.grid, ElementsAre(1, 2, 1))
      << "bytes are faster";
}

TEST(RetileMatmulGrid, CoresShareThePartsEvenly) {
  const auto parts = [](int64_t n) {
    return MatmulKernel({.m = 128, .n = n, .k = 384, .bm = 128, .bn = n, .bk = 128})
        .retileMatmulGrid(2)
        ->signature.grid[1];
  };
  EXPECT_EQ(parts(384), 6) << "not three of 128 columns";
  EXPECT_EQ(parts(512), 4);
  EXPECT_EQ(parts(320), 5) << "no number of whole tiles is even";
}

TEST(RetileMatmulGrid, WithoutARegisterTileThatDividesThemSmallerPartsAreShared) {
  const Sizes columns{.m = 100, .n = 3000, .k = 1024, .bm = 100, .bn = 512, .bk = 256};
  EXPECT_THAT(MatmulKernel(columns).retileMatmulGrid(1)->signature.grid, ElementsAre(1, 1, 1));
  EXPECT_THAT(MatmulKernel(columns).retileMatmulGrid(2)->signature.grid, ElementsAre(1, 6, 1));
  EXPECT_THAT(MatmulKernel(columns).retileMatmulGrid(3)->signature.grid, ElementsAre(1, 3, 1));
  const Sizes primes{.m = 101, .n = 1009, .k = 1024, .bm = 101, .bn = 1009, .bk = 256};
  EXPECT_THAT(MatmulKernel(primes).retileMatmulGrid(2)->signature.grid, ElementsAre(1, 1, 1)) << "not single columns";
}

TEST(RetileMatmulGrid, PartialBlocksBecomeWhole) {
  MatmulKernel matmul({.m = 50, .n = 200});
  const auto made = matmul.retileMatmulGrid();
  ASSERT_TRUE(made);
  EXPECT_THAT(made->signature.windows[2]->bounds, ElementsAre(50, 200));
  matmul.run();
}

TEST(RetileMatmulGrid, AnEpilogueStays) {
  MatmulKernel::twice = true;
  MatmulKernel matmul({});
  MatmulKernel::twice = false;
  ASSERT_TRUE(matmul.retileMatmulGrid());
  EXPECT_EQ(matmul.retileMatmulGrid()->signature.numScratch, 0);
  matmul.run();
}

TEST(RetileMatmulGrid, DeadLoadsDoNotCount) {
  MatmulKernel::loadsWhatItReplaces = true;
  MatmulKernel matmul({});
  MatmulKernel::loadsWhatItReplaces = false;
  const auto made = matmul.retileMatmulGrid();
  ASSERT_TRUE(made);
  EXPECT_THAT(made->signature.grid, ElementsAre(1, 1, 1));
  EXPECT_EQ(made->signature.numScratch, 0);
  matmul.run();
}

TEST(RetileMatmulGrid, AConditionOnAnotherStepKeepsTheSteps) {
  MatmulKernel matmul({}, "f32", 1);
  const auto made = matmul.retileMatmulGrid();
  EXPECT_TRUE(!made || made->signature.grid[2] == 3);
  matmul.run();
}

TEST(RetileMatmulGrid, ConditionsInsideOfOthersKeepTheSteps) {
  for (const Epilogue inner : {Epilogue::lastAgain, Epilogue::firstToo}) {
    MatmulKernel::epilogue = inner;
    MatmulKernel matmul({});
    MatmulKernel::epilogue = Epilogue::plain;
    const auto made = matmul.retileMatmulGrid();
    EXPECT_TRUE(!made || made->signature.grid[2] == 3);
    matmul.run();
  }
}

TEST(RetileMatmulGrid, AValueThatAConditionChoosesKeepsTheSteps) {
  MatmulKernel::choosesFactor = true;
  MatmulKernel matmul({});
  MatmulKernel::choosesFactor = false;
  const auto made = matmul.retileMatmulGrid();
  EXPECT_TRUE(!made || made->signature.grid[2] == 3);
  matmul.run();
}

/// x · y minus the sum of each row, as norms have it.
TEST(RetileMatmulGrid, RowsThatAreReducedGetOtherBlocks) {
  TextKernel k({8}, "parallel");
  const Val x = k.input({.array = {256, 768}, .block = {32, 768}, .map = "%i, %c0"});
  const Val y = k.input({.array = {768, 128}, .block = {768, 128}, .map = "%c0, %c0"});
  const Val o = k.output({.array = {256, 128}, .block = {32, 128}, .map = "%i, %c0"});
  const Val product = multiplied(k, k.load(x), k.load(y), false, k.splat(k.f32(0), {32, 128}));
  k.store(k.binary("arith.subf", product, reducedRows(k, "add", product, {32, 128}, 0)), o);
  const auto rows = [&](int cores) {
    return retileMatmulGrid(k.package(), processor(), cores)->signature.windows[0]->bounds[0];
  };
  EXPECT_EQ(rows(1), 256);
  EXPECT_EQ(rows(2), 64) << "every part reads all of y";
  EXPECT_EQ(rows(16), 16) << "but a part for every core";
  same(k, {smallNumbers("f32", {256, 768}), smallNumbers("f32", {768, 128}, 1)});
}

TEST(RetileMatmulGrid, OtherKernelsStay) {
  TextKernel k({4}, "parallel");
  const Val x = k.input({.array = {32, 128}, .block = {8, 128}, .map = "%i, %c0"});
  const Val o = k.output({.array = {32, 128}, .block = {8, 128}, .map = "%i, %c0"});
  k.store(k.load(x), o);
  EXPECT_FALSE(retileMatmulGrid(k.package(), processor(), 2));
}

}  // namespace
}  // namespace smalti::cpu::testing
