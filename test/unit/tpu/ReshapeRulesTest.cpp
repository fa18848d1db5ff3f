// Reshapes of refs, as TPU compilers take and refuse them.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "RuleTesting.h"

namespace smalti::tpu {
namespace {

using testing::refusalOf;

/// Of a kernel with scratch of a shape, and these ops.
std::string withScratch(const std::string& shape, const std::string& ops) {
  return fmt::format(R"MLIR(module {{
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>, %o: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %s0: memref<{0}, #tpu.memory_space<vmem>>)
      attributes {{dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{{transform_indices = @map, window_bounds = array<i64: 8, 128>}},
                                   {{transform_indices = @map, window_bounds = array<i64: 8, 128>}}]}} {{
    {1}
    return
  }}
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {{
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }}
}}
)MLIR",
                     shape, ops);
}

/// A kernel that views scratch of the first shape as the second, that as the third, and so on.
std::string refusalOfReshapes(std::string_view chip, const std::vector<std::string>& shapes) {
  std::string reshapes;
  for (size_t i = 1; i < shapes.size(); ++i)
    reshapes += fmt::format(
        "%s{} = tpu.memref_reshape %s{} : memref<{}, #tpu.memory_space<vmem>> -> memref<{}, #tpu.memory_space<vmem>>\n",
        i, i - 1, shapes[i - 1], shapes[i]);
  return refusalOf(chip, {16, 128}, withScratch(shapes[0], reshapes));
}
std::string refusalOfReshape(std::string_view chip, const std::string& from, const std::string& to) {
  return refusalOfReshapes(chip, {from, to});
}

// Verdicts of libtpu for v5e, v6e and v7x.
TEST(TpuRefReshapes, RefsWhoseRowsAreLinearInMemoryBecomeAnythingOfWholeLanes) {
  for (const auto& [from, to] : {std::pair("16x1x256xf32", "32x128xf32"),
                                 {"16x1x384xf32", "48x128xf32"},
                                 {"4x8x1x256xf32", "64x128xf32"},
                                 {"16x1x512xf32", "8x1x1024xf32"},
                                 {"16x1x512xf32", "16x4x128xf32"},
                                 {"5x1x256xi32", "10x128xi32"},
                                 {"1x512xf32", "2x256xf32"},
                                 {"64x128xf32", "32x256xf32"},
                                 {"6x128xf32", "2x3x128xf32"},
                                 {"16x4x128xf32", "64x128xf32"},
                                 {"5x64xf32", "5x1x64xf32"},
                                 {"1x3x64xi32", "3x1x64xi32"},
                                 {"16x1x200xf32", "16x200xf32"},
                                 {"6x12x200xf32", "2x3x12x200xf32"},
                                 {"6x5x128xbf16", "2x3x5x128xbf16"}})
    for (const char* chip : {"v5e", "v6e", "v7x"})
      EXPECT_EQ(refusalOfReshape(chip, from, to), "") << from << " as " << to << " on " << chip;
}

/// Each reshape by itself, of tiles that those before it have kept.
TEST(TpuRefReshapes, OneAfterTheOther) {
  const std::vector<std::vector<std::string>> accepted{{"64x5x1x256xi32", "320x256xi32", "640x128xi32"},
                                                       {"8x5x8x128xf32", "160x256xf32", "320x128xf32"},
                                                       {"8x1x8x256xf32", "16x4x256xf32", "64x256xf32"},
                                                       {"4x5x2x256xi32", "40x256xi32", "10x4x256xi32"},
                                                       {"8x5x4x128xbf16", "160x128xbf16", "160x128xbf16"}};
  const std::vector<std::vector<std::string>> refused{{"8x5x4x128xbf16", "80x256xbf16", "160x128xbf16"},
                                                      {"4x5x2x256xi32", "80x128xi32", "40x256xi32"},
                                                      {"4x2x8x512xi8", "16x4x512xi8", "64x512xi8"},
                                                      {"4x3x8x512xf32", "96x512xf32", "24x4x512xf32"}};
  for (const char* chip : {"v5e", "v6e"}) {
    for (const auto& shapes : accepted) EXPECT_EQ(refusalOfReshapes(chip, shapes), "") << shapes[0] << " " << shapes[1];
    for (const auto& shapes : refused)
      EXPECT_NE(refusalOfReshapes(chip, shapes).find("error[SM6621]"), std::string::npos)
          << shapes[0] << " " << shapes[1];
  }
}

TEST(TpuRefReshapes, EqualOnesOfOneLineAreSaidOnce) {
  const std::string reshape =
      " = tpu.memref_reshape %s0 : memref<40x256xf32, #tpu.memory_space<vmem>> -> memref<80x128xf32, "
      "#tpu.memory_space<vmem>> loc(\"k.py\":3:";
  const KernelPackage kernel = testing::kernelOf(
      {16, 128}, withScratch("40x256xf32", "%a" + reshape + "1)\n%b" + reshape + "1)\n%c" + reshape + "9)\n"));
  EXPECT_EQ(judge(kernel, *findChip("v6e")).refusals.size(), 2U);
}

TEST(TpuRefReshapes, OthersAreRefused) {
  for (const auto& [from, to] : {std::pair("16x1x256xbf16", "32x128xbf16"),
                                 {"16x2x256xf32", "64x128xf32"},
                                 {"16x8x256xf32", "256x128xf32"},
                                 {"16x256xf32", "16x1x256xf32"},
                                 {"16x1x64xf32", "8x128xf32"},
                                 {"2x6x128xf32", "6x256xf32"},
                                 {"3x5x128xf32", "3x1x5x128xf32"},
                                 {"6x5x64xf32", "2x3x5x64xf32"},
                                 {"2x3x64xf32", "1x384xf32"}})
    for (const char* chip : {"v5e", "v6e", "v7x"})
      EXPECT_NE(refusalOfReshape(chip, from, to).find("error[SM6621]"), std::string::npos) << from << " as " << to;
}

TEST(TpuRefReshapes, SM6621_PaddedRows) {
  EXPECT_EQ(refusalOfReshape("v5e", "3x5x128xf32", "15x128xf32"),
            R"MESSAGE(error[SM6621]: Reshape on a non-contiguous memref: its rows are padded to whole tiles
  --> k.mlir:8:11
   in kernel 'kernel'
   in chip v5e
  need: a multiple of 8 rows
  have: f32[3,5,128] as f32[15,128]
  help: reshape the value that is loaded, or make the rows whole tiles
)MESSAGE");
}

}  // namespace
}  // namespace smalti::tpu
