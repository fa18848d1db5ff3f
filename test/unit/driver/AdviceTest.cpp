// Kernels with a planted cause of slowness: the first advice names it, and what it promises is what the candidate
// takes.
#include "driver/time/Advice.h"

#include <gtest/gtest.h>

#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "driver/time/Reblock.h"

namespace smalti::driver {
namespace {

using Kind = Advice::Kind;

KernelPackage kernelOf(const std::string& text, std::vector<ArrayType> operands, ArrayType result) {
  KernelPackage package;
  package.context = makeContext();
  package.module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(package.context.get()), "k.mlir");
  EXPECT_TRUE(package.module) << text;
  package.name = "kernel";
  package.operands = std::move(operands);
  package.results = {std::move(result)};
  package.config.needsLayoutPasses = true;
  const Status ok = finish(package);
  EXPECT_TRUE(ok) << ok.error().str() << text;
  return package;
}

std::string semanticsText(const std::string& letters) {
  std::vector<std::string> out;
  for (const char c : letters)
    out.push_back(fmt::format("#tpu.dimension_semantics<{}>", c == 'p' ? "parallel" : "arbitrary"));
  return fmt::format("{}", fmt::join(out, ", "));
}

/// [m, k] × [k, n] in blocks, with an f32 sum over k in scratch. `axes`: which grid axis is m, n, k.
struct Product {
  int64_t m = 2048, k = 2048, n = 2048, bm = 512, bk = 512, bn = 512;
  std::array<int, 3> axes{0, 1, 2};
  std::string semantics = "ppa";
  std::string mode;  // of the inputs' windows
  std::string more;  // ops of the body
};

KernelPackage make(const Product& p) {
  std::array<int64_t, 3> grid{};
  grid[static_cast<size_t>(p.axes[0])] = p.m / p.bm;
  grid[static_cast<size_t>(p.axes[1])] = p.n / p.bn;
  grid[static_cast<size_t>(p.axes[2])] = p.k / p.bk;
  const std::string mode = p.mode.empty() ? "" : ", pipeline_mode = #tpu.pipeline_mode<" + p.mode + ">";
  const std::string indices = "%i0: i32, %i1: i32, %i2: i32";
  const auto map = [&](std::string_view name, int a, int b) {
    return fmt::format("  func.func @{}({}) -> (i32, i32) {{\n    return %i{}, %i{} : i32, i32\n  }}\n", name, indices,
                       a, b);
  };
  const std::string text = fmt::format(
      R"MLIR(module {{
  func.func @kernel({0}, %x: memref<{1}x{2}xbf16, #tpu.memory_space<vmem>>, %y: memref<{2}x{3}xbf16, #tpu.memory_space<vmem>>,
                    %o: memref<{1}x{3}xbf16, #tpu.memory_space<vmem>>, %acc: memref<{1}x{3}xf32, #tpu.memory_space<vmem>>)
      attributes {{dimension_semantics = [{4}], iteration_bounds = array<i64: {5}>, scalar_prefetch = 0 : i64,
                  scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{{transform_indices = @x, window_bounds = array<i64: {1}, {2}>{6}}},
                                   {{transform_indices = @y, window_bounds = array<i64: {2}, {3}>{6}}},
                                   {{transform_indices = @o, window_bounds = array<i64: {1}, {3}>}}]}} {{
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    %last = arith.constant {7} : i32
{12}    %first = arith.cmpi eq, %i{8}, %zero : i32
    scf.if %first {{
      %z = arith.constant dense<0.0> : vector<{1}x{3}xf32>
      tpu.vector_store %acc[%c0, %c0], %z {{strides = array<i32>}} : memref<{1}x{3}xf32, #tpu.memory_space<vmem>>, vector<{1}x{3}xf32>,
    }}
    %a = vector.load %x[%c0, %c0] : memref<{1}x{2}xbf16, #tpu.memory_space<vmem>>, vector<{1}x{2}xbf16>
    %b = vector.load %y[%c0, %c0] : memref<{2}x{3}xbf16, #tpu.memory_space<vmem>>, vector<{2}x{3}xbf16>
    %s = vector.load %acc[%c0, %c0] : memref<{1}x{3}xf32, #tpu.memory_space<vmem>>, vector<{1}x{3}xf32>
    %p = tpu.matmul %a, %b, %s {{dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false}} : vector<{1}x{2}xbf16>, vector<{2}x{3}xbf16>, vector<{1}x{3}xf32> -> vector<{1}x{3}xf32>
    tpu.vector_store %acc[%c0, %c0], %p {{strides = array<i32>}} : memref<{1}x{3}xf32, #tpu.memory_space<vmem>>, vector<{1}x{3}xf32>,
    %done = arith.cmpi eq, %i{8}, %last : i32
    scf.if %done {{
      %r = vector.load %acc[%c0, %c0] : memref<{1}x{3}xf32, #tpu.memory_space<vmem>>, vector<{1}x{3}xf32>
      %t = arith.truncf %r : vector<{1}x{3}xf32> to vector<{1}x{3}xbf16>
      tpu.vector_store %o[%c0, %c0], %t {{strides = array<i32>}} : memref<{1}x{3}xbf16, #tpu.memory_space<vmem>>, vector<{1}x{3}xbf16>,
    }}
    return
  }}
{9}{10}{11}}}
)MLIR",
      indices, p.bm, p.bk, p.bn, semanticsText(p.semantics), fmt::join(grid, ", "), mode, p.k / p.bk - 1, p.axes[2],
      map("x", p.axes[0], p.axes[2]), map("y", p.axes[2], p.axes[1]), map("o", p.axes[0], p.axes[1]), p.more);
  return kernelOf(text, {{DType::bf16, {p.m, p.k}}, {DType::bf16, {p.k, p.n}}}, {DType::bf16, {p.m, p.n}});
}

/// o = x + y in blocks, where the block of y depends on the first axis alone if `shared`.
struct Sum {
  int64_t rows = 8192, columns = 2048, br = 512, bc = 1024;
  std::string semantics = "pp";
  std::string mode;
  bool columnsFirst = false;  // grid (columns, rows): y, a block of rows, is fetched again at each step
};

KernelPackage make(const Sum& s) {
  const int r = s.columnsFirst ? 1 : 0;
  const int64_t rows = s.rows / s.br, columns = s.columns / s.bc;
  const std::string mode = s.mode.empty() ? "" : ", pipeline_mode = #tpu.pipeline_mode<" + s.mode + ">";
  const std::string text = fmt::format(
      R"MLIR(module {{
  func.func @kernel(%i0: i32, %i1: i32, %x: memref<{0}x{1}xf32, #tpu.memory_space<vmem>>,
                    %y: memref<{0}x2048xf32, #tpu.memory_space<vmem>>, %o: memref<{0}x{1}xf32, #tpu.memory_space<vmem>>)
      attributes {{dimension_semantics = [{2}], iteration_bounds = array<i64: {3}, {4}>, scalar_prefetch = 0 : i64,
                  scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{{transform_indices = @x, window_bounds = array<i64: {0}, {1}>{5}}},
                                   {{transform_indices = @y, window_bounds = array<i64: {0}, 2048>{5}}},
                                   {{transform_indices = @x, window_bounds = array<i64: {0}, {1}>}}]}} {{
    %c0 = arith.constant 0 : index
    %a = vector.load %x[%c0, %c0] : memref<{0}x{1}xf32, #tpu.memory_space<vmem>>, vector<{0}x{1}xf32>
    %b = vector.load %y[%c0, %c0] : memref<{0}x2048xf32, #tpu.memory_space<vmem>>, vector<{0}x2048xf32>
    %z = arith.constant dense<0.0> : vector<{0}xf32>
    %q = vector.multi_reduction <maximumf>, %b, %z [1] : vector<{0}x2048xf32> to vector<{0}xf32>
    %w = vector.shape_cast %q : vector<{0}xf32> to vector<{0}x1xf32>
    %e = vector.broadcast %w : vector<{0}x1xf32> to vector<{0}x{1}xf32>
    %t = arith.addf %a, %e : vector<{0}x{1}xf32>
    tpu.vector_store %o[%c0, %c0], %t {{strides = array<i32>}} : memref<{0}x{1}xf32, #tpu.memory_space<vmem>>, vector<{0}x{1}xf32>,
    return
  }}
  func.func @x(%i0: i32, %i1: i32) -> (i32, i32) {{
    return %i{6}, %i{7} : i32, i32
  }}
  func.func @y(%i0: i32, %i1: i32) -> (i32, i32) {{
    %zero = arith.constant 0 : i32
    return %i{6}, %zero : i32, i32
  }}
}}
)MLIR",
      s.br, s.bc, semanticsText(s.semantics), s.columnsFirst ? columns : rows, s.columnsFirst ? rows : columns, mode, r,
      1 - r);
  return kernelOf(text, {{DType::f32, {s.rows, s.columns}}, {DType::f32, {s.rows, 2048}}},
                  {DType::f32, {s.rows, s.columns}});
}

struct Planted {
  std::string name, chip;
  Kind cause;
  double most;  // of the time that is left when it is removed
  std::function<KernelPackage()> kernel;
};

std::vector<Planted> planted() {
  const auto product = [](Product p) { return [p] { return make(p); }; };
  const auto sum = [](Sum s) { return [s] { return make(s); }; };
  return {
      {"small blocks", "v5e", Kind::blocks, 0.2, product({.bm = 128, .bk = 128, .bn = 128})},
      {"small blocks", "v6e", Kind::blocks, 0.2, product({.bm = 128, .bk = 128, .bn = 128})},
      {"small blocks", "v7x", Kind::blocks, 0.2, product({.bm = 128, .bk = 128, .bn = 128})},
      {"few rows", "v6e", Kind::blocks, 0.6, product({.bm = 16})},
      {"few columns", "v5e", Kind::blocks, 0.7, product({.bn = 128})},
      {"a short sum", "v6e", Kind::blocks, 0.7, product({.bk = 128})},
      {"large, small blocks", "v5p", Kind::blocks, 0.5,
       product({.m = 4096, .k = 4096, .n = 4096, .bm = 256, .bk = 256, .bn = 256})},
      {"small blocks, deep", "v4", Kind::blocks, 0.6,
       product({.m = 512, .k = 8192, .n = 512, .bm = 128, .bk = 128, .bn = 128})},
      {"one core", "v5p", Kind::cores, 0.75,
       product({.m = 4096, .k = 4096, .n = 4096, .bm = 1024, .bk = 512, .bn = 1024, .semantics = "aaa"})},
      {"one core", "v4", Kind::cores, 0.75, product({.m = 4096, .k = 4096, .n = 4096, .semantics = "aaa"})},
      {"one core, a sum", "v5p", Kind::cores, 0.85, sum({.semantics = "aa"})},
      {"one core, a sum", "v4", Kind::cores, 0.9, sum({.semantics = "aa"})},
      {"one buffer", "v5e", Kind::buffers, 0.9, product({.bm = 1024, .bk = 512, .bn = 1024, .mode = "synchronous"})},
      {"one buffer", "v6e", Kind::buffers, 0.9, product({.bm = 1024, .bk = 512, .bn = 1024, .mode = "synchronous"})},
      {"one buffer", "v7x", Kind::buffers, 0.9, product({.bm = 1024, .bk = 512, .bn = 1024, .mode = "synchronous"})},
      {"small blocks, a sum", "v5e", Kind::blocks, 0.6, sum({.br = 16})},
      {"small blocks, a sum", "v6e", Kind::blocks, 0.6, sum({.br = 8})},
      {"rows come again", "v5e", Kind::order, 0.9,
       sum({.br = 256, .bc = 256, .semantics = "pp", .columnsFirst = true})},
      {"rows come again", "v6e", Kind::order, 0.9,
       sum({.br = 256, .bc = 256, .semantics = "pp", .columnsFirst = true})},
      {"rows come again", "v7x", Kind::order, 0.9,
       sum({.br = 256, .bc = 128, .semantics = "pp", .columnsFirst = true})},
  };
}

double usOf(const KernelPackage& kernel, const tpu::Chip& chip) {
  auto time = sim::timeOf(kernel, chip, {});
  EXPECT_TRUE(time) << time.error().str();
  return time ? time->cycles / (chip.device.clockGhz * 1e3) : 0;
}

TEST(Advice, TheFirstRemovesAPlantedCauseInAtLeastSixteenOfTwenty) {
  const auto all = planted();
  ASSERT_EQ(all.size(), 20);
  int removed = 0;
  for (const Planted& p : all) {
    const auto chip = tpu::findChip(p.chip);
    const KernelPackage kernel = p.kernel();
    const auto advice = adviceFor(kernel, *chip, {}, usOf(kernel, *chip));
    // Rows do not come again either where a block is as wide as the array.
    const bool wide = p.cause == Kind::order && !advice.empty() && advice.front().grid[0] == 1;
    const bool names = !advice.empty() && (advice.front().kind == p.cause || wide) && advice.front().share <= p.most;
    removed += names ? 1 : 0;
    std::string said;
    for (const Advice& a : advice) said += fmt::format("\n    {:.2f} {}", a.share, a.text);
    if (!names) fmt::print("{} on {}:{}\n", p.name, p.chip, said);
  }
  EXPECT_GE(removed, 16);
}

TEST(Advice, PredictsTheTimeOfTheCandidate) {
  const auto v5e = tpu::findChip("v5e");
  const KernelPackage slow = make(Product{.bm = 128, .bk = 128, .bn = 128});
  const auto advice = adviceFor(slow, *v5e, {}, usOf(slow, *v5e));
  ASSERT_FALSE(advice.empty());
  const Shape left = advice[0].blocks[0], right = advice[0].blocks[1];
  const KernelPackage candidate = make(Product{.bm = left[0], .bk = left[1], .bn = right[1]});
  EXPECT_NEAR(usOf(candidate, *v5e), advice[0].us, 0.01 * advice[0].us);
  EXPECT_NEAR(advice[0].us / usOf(slow, *v5e), advice[0].share, 1e-9);
}

TEST(Advice, NoAdviceForAKernelThatIsAsFastAsItsCandidates) {
  const auto v5e = tpu::findChip("v5e");
  const KernelPackage slow = make(Product{.bm = 128, .bk = 128, .bn = 128});
  const auto advice = adviceFor(slow, *v5e, {}, usOf(slow, *v5e));
  ASSERT_FALSE(advice.empty());
  const KernelPackage fast =
      make(Product{.bm = advice[0].blocks[0][0], .bk = advice[0].blocks[0][1], .bn = advice[0].blocks[1][1]});
  for (const Advice& a : adviceFor(fast, *v5e, {}, usOf(fast, *v5e))) EXPECT_GT(a.share, 0.9) << a.text;
}

TEST(Reblock, RefusesWhatDoesNotDivide) {
  const KernelPackage kernel = make(Product{});
  EXPECT_FALSE(reblocked(kernel, 0, 3, 1));
  EXPECT_FALSE(reblocked(kernel, 7, 2, 1));
  const auto larger = reblocked(kernel, 0, 2, 1);
  ASSERT_TRUE(larger);
  EXPECT_EQ(larger->signature.grid, (std::vector<int64_t>{2, 4, 4}));
  EXPECT_EQ(larger->signature.windows[0]->bounds, (Shape{1024, 512}));
  EXPECT_EQ(larger->signature.windows[1]->bounds, (Shape{512, 512}));
  EXPECT_EQ(larger->signature.windows[2]->bounds, (Shape{1024, 512}));
}

TEST(Reblock, OnAnAxisOfOneStepOutputWritesBelongToTheLastStep) {
  const KernelPackage kernel = make(Product{.k = 512, .bk = 512});
  ASSERT_EQ(kernel.signature.grid[2], 1);
  const auto halved = reblocked(kernel, 2, 1, 2);
  ASSERT_TRUE(halved);
  std::vector<int64_t> steps;  // that the kernel asks for, in order: the first one, then the last
  halved->kernelFunction().walk([&](mlir::arith::CmpIOp compare) {
    auto constant = compare.getRhs().getDefiningOp<mlir::arith::ConstantOp>();
    ASSERT_TRUE(constant);
    steps.push_back(mlir::cast<mlir::IntegerAttr>(constant.getValue()).getInt());
  });
  EXPECT_EQ(steps, (std::vector<int64_t>{0, 1}));
}

TEST(Reblock, AnOutputThatIsSummedUpKeepsItsAxisInside) {
  const KernelPackage kernel = make(Product{});
  EXPECT_FALSE(reordered(kernel, {2, 1, 0}));
  EXPECT_TRUE(reordered(kernel, {1, 0, 2}));
}

TEST(Reblock, KeepsBlocksOfWhichTheBodyLoadsParts) {
  const KernelPackage rows = make(Product{.more = "    %part = vector.load %x[%c0, %c0] : memref<512x512xbf16, "
                                                  "#tpu.memory_space<vmem>>, vector<128x512xbf16>\n"});
  EXPECT_FALSE(reblocked(rows, 0, 2, 1));  // how many parts there are would not follow
  EXPECT_TRUE(reblocked(rows, 1, 2, 1));
  EXPECT_TRUE(reblocked(rows, 2, 2, 1));
}

TEST(Reblock, LeavesAxesWhoseIndexDecidesByItsSize) {
  const KernelPackage causal = make(Product{.more = R"MLIR(
    %block = arith.constant 512 : i32
    %row = arith.muli %i0, %block : i32
    %column = arith.muli %i1, %block : i32
    %seen = arith.cmpi sge, %row, %column : i32
    scf.if %seen {
      %w = vector.load %x[%c0, %c0] : memref<512x512xbf16, #tpu.memory_space<vmem>>, vector<512x512xbf16>
      tpu.vector_store %x[%c0, %c0], %w {strides = array<i32>} : memref<512x512xbf16, #tpu.memory_space<vmem>>, vector<512x512xbf16>,
    }
)MLIR"});
  EXPECT_FALSE(reblocked(causal, 0, 2, 1));
  EXPECT_FALSE(reblocked(causal, 1, 2, 1));
  EXPECT_TRUE(reblocked(causal, 2, 2, 1));
}

}  // namespace
}  // namespace smalti::driver
