// What is taken and slow: the kernel and the whole message. And the table of reasons that docs/tpu_legality.md
// publishes.
#include "tpu/Warnings.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "RuleTesting.h"

namespace smalti::testing {
namespace {

/// A kernel with `semantics` on a grid of `steps`, blocks (`rows`, `columns`) of f32.
std::vector<std::string> warningsOf(const std::string& chip, int64_t rows, int64_t columns, int64_t steps,
                                    const std::string& semantics, const std::string& body) {
  const std::string type = fmt::format("memref<{}x{}xf32, #tpu.memory_space<vmem>>", rows, columns);
  const std::string text = fmt::format(
      R"MLIR(module {{
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: {0}, %o: {0})
      attributes {{dimension_semantics = [#tpu.dimension_semantics<{1}>], iteration_bounds = array<i64: {2}>,
                  scalar_prefetch = 1 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{{transform_indices = @map, window_bounds = array<i64: {3}, {4}>}},
                                   {{transform_indices = @map, window_bounds = array<i64: {3}, {4}>}}]}} {{
    %zero = arith.constant 0 : index
    %v = vector.load %x[%zero, %zero] : {0}, vector<{3}x{4}xf32>
    {5}
    return
  }}
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {{
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }}
}}
)MLIR",
      type, semantics, steps, rows, columns, body);
  const auto found = tpu::findChip(chip);
  EXPECT_TRUE(found);
  const KernelPackage kernel = kernelOf({steps * rows, columns}, text);
  std::vector<std::string> out;
  for (const Diagnostic& d : tpu::warningsOf(kernel, *found, tpu::vmemOf(kernel, *found))) out.push_back(d.str());
  return out;
}

TEST(Warnings, NoneOfAGoodKernel) {
  EXPECT_THAT(warningsOf("v4", 256, 1024, 2, "parallel", "%e = math.exp %v : vector<256x1024xf32>"),
              ::testing::IsEmpty());
}

TEST(Warnings, SM6636_WastefulShapes) {
  EXPECT_THAT(warningsOf("v5e", 512, 1, 2, "arbitrary", "%e = math.exp %v : vector<512x1xf32>"),
              ::testing::ElementsAre(R"MESSAGE(error[SM6636]: a value's shape wastes vector registers
  --> k.mlir:8:10
   in kernel 'kernel'
   in chip v5e
  need: last dimensions that fill registers of 8 rows of 128 lanes
  have: vector.load of f32[512,1] in 64 registers, where 1 would hold it
  help: put the longest dimension last, or fold leading dimensions into the last two
)MESSAGE"));
}

TEST(Warnings, SM6637_SpilledValues) {
  EXPECT_THAT(warningsOf("v5e", 256, 1024, 2, "arbitrary", kSoftmax),
              ::testing::ElementsAre(R"MESSAGE(error[SM6637]: values of the body do not fit into the vector registers
  --> k.mlir:11:10
   in kernel 'kernel'
   in chip v5e
  need: at most 64 registers at once
  have: about 216 more, which are stored to VMEM and loaded again; most is the result of math.exp, needed again later: f32[256,1024]
  help: where smalti time says that vector loads and stores take long: smaller blocks, or a loop over the rows of a block (pl.loop)
)MESSAGE"));
}

TEST(Warnings, NoneOfWhatEveryLargeProductKeeps) {
  const std::string product = R"MLIR(
    %w = arith.truncf %v : vector<2048x512xf32> to vector<2048x512xbf16>
    %r = vector.load %x[%zero, %zero] : memref<2048x512xf32, #tpu.memory_space<vmem>>, vector<512x512xf32>
    %s = arith.truncf %r : vector<512x512xf32> to vector<512x512xbf16>
    %c = arith.constant dense<0.0> : vector<2048x512xf32>
    %p = tpu.matmul %w, %s, %c {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false} : vector<2048x512xbf16>, vector<512x512xbf16>, vector<2048x512xf32> -> vector<2048x512xf32>
    vector.store %p, %o[%zero, %zero] : memref<2048x512xf32, #tpu.memory_space<vmem>>, vector<2048x512xf32>)MLIR";
  EXPECT_THAT(warningsOf("v5e", 2048, 512, 2, "arbitrary", product), ::testing::IsEmpty());
}

TEST(Warnings, SM6638_UnevenCores) {
  EXPECT_THAT(warningsOf("v4", 256, 1024, 3, "parallel", ""),
              ::testing::ElementsAre(R"MESSAGE(error[SM6638]: the cores do not share the grid evenly
  --> k.mlir:2:3
   in kernel 'kernel'
   in chip v4
  need: an axis marked parallel that 2 cores divide
  have: cores that work 75 % of the time
  help: choose blocks that give an even number of steps along that axis
)MESSAGE"));
  EXPECT_THAT(warningsOf("v4", 256, 1024, 3, "arbitrary", ""),
              ::testing::ElementsAre(::testing::HasSubstr("one core does all steps of the grid")));
  EXPECT_THAT(warningsOf("v5e", 256, 1024, 3, "parallel", ""), ::testing::IsEmpty());
}

TEST(Reasons, ThePageHasARowForEach) {
  std::ifstream in(std::filesystem::path(SMALTI_SOURCE_DIR) / "docs/tpu_legality.md");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  for (const tpu::Reason& r : tpu::reasons())
    EXPECT_THAT(page, ::testing::HasSubstr(fmt::format("| `{}` | [{}](errors/{}.md) | ", r.id, r.code, r.code)));
}

}  // namespace
}  // namespace smalti::testing
