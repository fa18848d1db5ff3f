// Rules of masks as values, and of slices of refs and values that only parts of registers hold.
#include <fmt/format.h>

#include "RuleTesting.h"

namespace smalti {
namespace {

using testing::refusalOf;

/// A kernel whose body is `body`, with scratch %s0 of `scratch`.
std::string kernelWith(std::string_view scratch, std::string_view body) {
  return fmt::format(R"MLIR(module {{
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<{}, #tpu.memory_space<vmem>>)
      attributes {{dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{{transform_indices = @map, window_bounds = array<i64: 8, 128>}},
                                   {{transform_indices = @map, window_bounds = array<i64: 8, 128>}}]}} {{
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
{}
    return
  }}
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {{
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }}
}}
)MLIR",
                     scratch, body);
}

std::string verdict(std::string_view chip, std::string_view scratch, std::string_view body) {
  return refusalOf(chip, {16, 128}, kernelWith(scratch, body));
}

constexpr std::string_view kChoice =
    R"(    %a = vector.load %s0[%zero, %zero] : memref<8x128xi32, #tpu.memory_space<vmem>>, vector<8x128xi32>
    %b = arith.constant dense<1> : vector<8x128xi32>
    %m = arith.cmpi eq, %a, %b : vector<8x128xi32>
    %n0 = arith.cmpi sgt, %a, %b : vector<8x128xi32>
    %v = arith.select %m, %n0, %m : vector<8x128xi1>, vector<8x128xi1>)";

TEST(TpuMasks, NoMaskChoosesBetweenMasks) {
  EXPECT_EQ(verdict("v6e", "8x128xi32", kChoice), R"MESSAGE(error[SM6634]: Invalid input layout
  --> k.mlir:14:10
   in kernel 'kernel'
   in chip v6e
  need: a choice between numbers
  have: a choice between two masks, pred[8,128]
  help: write (mask & a) | (~mask & b)
)MESSAGE");
  EXPECT_EQ(verdict("v4", "8x128xi32", kChoice),
            R"MESSAGE(error[SM6616]: failed to legalize operation 'tpu.unpack_subelements'
  --> k.mlir:14:10
   in kernel 'kernel'
   in chip v4
  need: a choice between numbers
  have: a choice between two masks, pred[8,128]
  help: write (mask & a) | (~mask & b)
)MESSAGE");
}

/// Two masks of these shapes, joined along an axis.
std::string joined(std::string_view first, std::string_view second, std::string_view whole, int axis) {
  return fmt::format(R"(    %a = arith.constant dense<1> : vector<{0}xi32>
    %b = arith.constant dense<2> : vector<{1}xi32>
    %m = arith.cmpi eq, %a, %a : vector<{0}xi32>
    %n0 = arith.cmpi eq, %b, %b : vector<{1}xi32>
    %v = tpu.concatenate %m, %n0 in {3} : vector<{0}xi1>, vector<{1}xi1> -> vector<{2}xi1>)",
                     first, second, whole, axis);
}

TEST(TpuMasks, MasksAreJoinedAtWholeTiles) {
  EXPECT_EQ(verdict("v5e", "8x128xi32", joined("4x128", "8x128", "12x128", 0)),
            R"MESSAGE(error[SM6634]: Invalid vector register cast
  --> k.mlir:14:10
   in kernel 'kernel'
   in chip v5e
  need: a multiple of 8 along axis 0 in each mask but the last
  have: pred[4,128]
  help: join as i32, and compare with 0
)MESSAGE");
  EXPECT_NE(verdict("v5e", "8x128xi32", joined("8x64", "8x128", "8x192", 1)), "");
  EXPECT_NE(verdict("v5e", "8x128xi32", joined("128", "128", "256", 0)), "");
  EXPECT_EQ(verdict("v5e", "8x128xi32", joined("8x128", "4x128", "12x128", 0)), "");
  EXPECT_EQ(verdict("v5e", "8x128xi32", joined("8x128", "8x1", "8x129", 1)), "");
  EXPECT_EQ(verdict("v5e", "8x128xi32", joined("1x5x128", "2x5x128", "3x5x128", 0)), "");
}

/// `rows` of a ref of 64 rows: the slice is loaded as it is, or its first row.
std::string sliced(std::string_view element, int rows, int lanes, int loaded) {
  return fmt::format(
      R"(    %r = tpu.memref_slice %s0[%z, %z] : memref<64x{2}x{0}, #tpu.memory_space<vmem>> -> memref<{1}x{2}x{0}, #tpu.memory_space<vmem>>
    %v = vector.load %r[%zero, %zero] : memref<{1}x{2}x{0}, #tpu.memory_space<vmem>>, vector<{3}x{2}x{0}>)",
      element, rows, lanes, loaded);
}

TEST(TpuSlices, OfPartsOfSeveralTilesAreNotLoaded) {
  EXPECT_EQ(verdict("v5e", "64x256xbf16", sliced("bf16", 4, 256, 4)),
            R"MESSAGE(error[SM6634]: Loads from refs with tiles non-contiguous along minor dimension unsupported
  --> k.mlir:11:10
   in kernel 'kernel'
   in chip v5e
  need: a slice of whole tiles: a multiple of 8 rows
  have: 4 rows of bf16[64,256]
  help: slice whole tiles, or index the ref once instead of a slice of it
)MESSAGE");
  EXPECT_EQ(verdict("v5e", "64x256xbf16", sliced("bf16", 8, 256, 8)), "");
  EXPECT_EQ(verdict("v5e", "64x128xbf16", sliced("bf16", 4, 128, 4)), "");
  EXPECT_NE(verdict("v5e", "64x256xf32", sliced("f32", 4, 256, 4)), "");
  EXPECT_EQ(verdict("v5e", "64x256xf32", sliced("f32", 4, 256, 1)), "");
}

TEST(TpuReshapes, LanesOfSeveralRegistersAreNotCutBelowOneOnV4) {
  constexpr std::string_view kBody =
      R"(    %a = vector.load %s0[%zero, %zero] : memref<8x512xf32, #tpu.memory_space<vmem>>, vector<8x512xf32>
    %v = vector.shape_cast %a : vector<8x512xf32> to vector<8x8x64xf32>)";
  EXPECT_NE(verdict("v4", "8x512xf32", kBody).find("have: f32[8,512] to f32[8,8,64]"), std::string::npos);
  EXPECT_EQ(verdict("v5e", "8x512xf32", kBody), "");
}

TEST(TpuTypes, NarrowArithmeticThatFoldsAwayIsNone) {
  const auto narrow = [](std::string_view op, int number) {
    return fmt::format(
        R"(    %a = vector.load %s0[%zero, %zero] : memref<8x128xi8, #tpu.memory_space<vmem>>, vector<8x128xi8>
    %c = arith.constant {} : i8
    %b = vector.broadcast %c : i8 to vector<8x128xi8>
    %v = arith.{} %a, %b : vector<8x128xi8>)",
        number, op);
  };
  EXPECT_EQ(verdict("v5e", "8x128xi8", narrow("muli", 1)), "");
  EXPECT_EQ(verdict("v5e", "8x128xi8", narrow("addi", 0)), "");
  EXPECT_EQ(verdict("v5e", "8x128xi8", narrow("subi", 0)), "");
  EXPECT_NE(verdict("v5e", "8x128xi8", narrow("muli", 2)), "");
  EXPECT_NE(verdict("v5e", "8x128xi8", narrow("addi", 1)), "");
}

TEST(TpuTypes, F8IsNotDivided) {
  EXPECT_EQ(
      verdict(
          "v7x", "32x128xf8E4M3FN",
          R"(    %a = vector.load %s0[%zero, %zero] : memref<32x128xf8E4M3FN, #tpu.memory_space<vmem>>, vector<32x128xf8E4M3FN>
    %v = arith.divf %a, %a : vector<32x128xf8E4M3FN>)"),
      R"MESSAGE(error[SM6634]: Unsupported data type
  --> k.mlir:11:10
   in kernel 'kernel'
   in chip v7x
  need: f32 or bf16
  have: arith.divf of f8e4m3fn[32,128]
  help: compute in f32 or i32, and convert the result
)MESSAGE");
}

TEST(TpuArrays, WithoutElementsAreRefused) {
  EXPECT_EQ(verdict("v5e", "0x128xf32", ""),
            R"MESSAGE(error[SM6634]: the compiler ends in a failed check of its own at arrays without elements
  --> k.mlir:2:3
   in kernel 'kernel'
   in chip v5e
  need: at least one element
  have: f32[0,128]
  help: call no kernel where there is nothing to compute
)MESSAGE");
}

}  // namespace
}  // namespace smalti
