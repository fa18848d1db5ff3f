// Every rule about windows, refs, copies and memory: the kernel that breaks it, the chip, and the whole message. The
// kernels are Mosaic text, as Pallas lowers them; docs/errors has a page for each.
#include <gtest/gtest.h>

#include "RuleTesting.h"

namespace smalti::testing {
namespace {

TEST(TpuRules, SM6610_BlockShape) {
  EXPECT_EQ(
      refusalOf("v5e", {16, 256}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x100xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x100xf32, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 100>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 100>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
      R"MESSAGE(error[SM6610]: Failed to set window params for input 0: Operand of shape (16, 256) has tiling (8, 128), but its block shape (8, 100) is not divisible by tiling evenly nor matches the full shape
  --> k.mlir:13:3
   in kernel 'kernel'
   in chip v5e
   in input 0
  need: 256 or a multiple of 128 along dimension 1
  have: 100
  help: choose such a block; the last block along a dimension may extend past its end
)MESSAGE");
}

TEST(TpuRules, SM6611_ElementIndex) {
  EXPECT_EQ(
      refusalOf("v5e", {64, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>, window_kind = #tpu.element_window<[0, 0], [0, 0]>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>, window_kind = #tpu.element_window<[0, 0], [0, 0]>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
      R"MESSAGE(error[SM6611]: Couldn't prove that tiling (8) divides index returned by transform_indices on dimension 0
  --> k.mlir:13:3
   in kernel 'kernel'
   in chip v5e
   in input 0
  need: a multiple of 8
  have: program_id(0), which is not one: it is 1 where program_id(0) = 1
  help: multiply it by 8, or move the step to a leading dimension of the array
)MESSAGE");
}

TEST(TpuRules, SM6612_UnalignedIndex) {
  EXPECT_EQ(refusalOf("v5e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<64x256xf32, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %k = memref.load %n[%zero] : memref<4xi32, #tpu.memory_space<smem>>
    %four = arith.constant 4 : i32
    %m = arith.muli %k, %four : i32
    %j = arith.index_cast %m : i32 to index
    %v = vector.load %s0[%j, %zero] : memref<64x256xf32, #tpu.memory_space<vmem>>, vector<8x256xf32>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6612]: cannot statically prove that index in dimension 0 is a multiple of 8
  --> k.mlir:14:10
   in kernel 'kernel'
   in chip v5e
  need: a multiple of 8 along dimension 0 of f32[64,256]
  have: loaded * 4, provably a multiple of 4 only: nothing is known of 'loaded', a number read from memory (k.mlir:10:10)
  help: multiply by a multiple of 8 instead of 4, such as 8; or, if the index always is one all the same, say so: pl.multiple_of(index, 8)
)MESSAGE");
}

TEST(TpuRules, SM6613_DmaOffset) {
  EXPECT_EQ(refusalOf("v5e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<64x256xf32, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %three = arith.constant 3 : i32
    %v = tpu.memref_slice %s0[%three, %z] : memref<64x256xf32, #tpu.memory_space<vmem>> -> memref<8x256xf32, #tpu.memory_space<vmem>>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6613]: Offsets along tiled dimensions must be aligned to tiles
  --> k.mlir:11:10
   in kernel 'kernel'
   in chip v5e
  need: whole tiles: a multiple of 8 along dimension 0 of f32[64,256]
  have: an offset of 3, which is not one
  help: copy whole tiles, and take the part that you want from VMEM
)MESSAGE");
}

TEST(TpuRules, SM6614_DmaSize) {
  EXPECT_EQ(refusalOf("v5e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<64x256xf32, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %v = tpu.memref_slice %s0[%z, %z] : memref<64x256xf32, #tpu.memory_space<vmem>> -> memref<12x256xf32, #tpu.memory_space<vmem>>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6614]: Slice sizes along tiled dimensions must be aligned to tiles
  --> k.mlir:10:10
   in kernel 'kernel'
   in chip v5e
  need: whole tiles: a multiple of 8 along dimension 0 of f32[64,256]
  have: 12 elements
  help: copy whole tiles, and take the part that you want from VMEM
)MESSAGE");
}

TEST(TpuRules, SM6615_DmaLinear) {
  EXPECT_EQ(refusalOf("v5e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<1024xi32, #tpu.memory_space<smem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %v = tpu.memref_slice %s0[%z] : memref<1024xi32, #tpu.memory_space<smem>> -> memref<100xi32, #tpu.memory_space<smem>>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6615]: The contiguous inner slice in the DMA transfer must be divisible by 512 bytes
  --> k.mlir:10:10
   in kernel 'kernel'
   in chip v5e
  need: whole tiles: a multiple of 128 along dimension 0 of i32[1024]
  have: 100 elements
  help: copy whole tiles, and take the part that you want from VMEM
)MESSAGE");
}

TEST(TpuRules, SM6621_RefReshape) {
  EXPECT_EQ(
      refusalOf("v5e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<64x256xbf16, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %v = tpu.memref_reshape %s0 : memref<64x256xbf16, #tpu.memory_space<vmem>> -> memref<128x128xbf16, #tpu.memory_space<vmem>>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
      R"MESSAGE(error[SM6621]: memref reshape: Supported only when tiled dimensions remain unchanged, except for tile-aligned folding or unfolding
  --> k.mlir:10:10
   in kernel 'kernel'
   in chip v5e
  need: the last dimension 256, and rows cut at multiples of 8
  have: bf16[64,256] as bf16[128,128]
  help: reshape the value that is loaded, or the array outside of the kernel
)MESSAGE");
}

TEST(TpuRules, SM6622_StridedMinor) {
  EXPECT_EQ(refusalOf("v5e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<64x256xf32, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %v = tpu.strided_load %s0[%zero, %zero] {strides = array<i32: 2, 1>} : memref<64x256xf32, #tpu.memory_space<vmem>>, vector<8x256xf32>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6622]: The last dim size is not 128 in original base memref
  --> k.mlir:10:10
   in kernel 'kernel'
   in chip v5e
  need: a ref of at most 128 lanes
  have: f32[64,256]
  help: give the ref a last dimension of 128, or load all rows and slice the value
)MESSAGE");
}

/// One row in every sublane, of as many registers as it has.
TEST(TpuRules, SM6622_BroadcastRowsMayHaveMoreLanes) {
  const auto load = [](const char* strides, const char* from, const char* to) {
    return std::string(R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<)MLIR") +
           from + R"MLIR(, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %v = tpu.strided_load %s0[%zero, %zero] {strides = array<i32: )MLIR" +
           strides + ">} : memref<" + from + ", #tpu.memory_space<vmem>>, vector<" + to + R"MLIR(>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR";
  };
  EXPECT_EQ(refusalOf("v7x", {16, 128}, load("0, 1", "1x256xf32", "8x256xf32")), "");
  EXPECT_NE(refusalOf("v7x", {16, 128}, load("0, 1", "1x200xf32", "8x200xf32")), "");
  EXPECT_NE(refusalOf("v7x", {16, 128}, load("0, 1", "1x256xbf16", "16x256xbf16")), "");
}

TEST(TpuRules, SM6623_StridedLanes) {
  EXPECT_EQ(refusalOf("v5e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<64x128xf32, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %v = tpu.strided_load %s0[%zero, %zero] {strides = array<i32: 1, 2>} : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<64x64xf32>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6623]: Stride on last dim is not 1
  --> k.mlir:10:10
   in kernel 'kernel'
   in chip v5e
  need: a stride of 1 along the last dimension
  have: 2 of f32[64,128]
  help: load all lanes, and take the ones you want from the value
)MESSAGE");
}

TEST(TpuRules, SM6624_StridedStart) {
  EXPECT_EQ(refusalOf("v5e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<64x128xbf16, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %k = memref.load %n[%zero] : memref<4xi32, #tpu.memory_space<smem>>
    %j = arith.index_cast %k : i32 to index
    %v = tpu.strided_load %s0[%j, %zero] {strides = array<i32: 2, 1>} : memref<64x128xbf16, #tpu.memory_space<vmem>>, vector<8x128xbf16>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6624]: Only static indices are supported for packed types
  --> k.mlir:12:10
   in kernel 'kernel'
   in chip v5e
  need: constant starts, or f32 or i32
  have: a start of loaded in bf16[64,128]
  help: keep the ref as f32 or i32
)MESSAGE");
}

TEST(TpuRules, SM6625_StridedStore) {
  EXPECT_EQ(refusalOf("v5e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<64x128xbf16, #tpu.memory_space<vmem>>, %s1: memref<8x128xbf16, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 2 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %a = vector.load %s1[%zero, %zero] : memref<8x128xbf16, #tpu.memory_space<vmem>>, vector<8x128xbf16>
    tpu.strided_store %s0[%zero, %zero], %a {strides = array<i32: 2, 1>} : memref<64x128xbf16, #tpu.memory_space<vmem>>, vector<8x128xbf16>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6625]: Strided store with non 32-bit data
  --> k.mlir:11:5
   in kernel 'kernel'
   in chip v5e
  need: f32 or i32
  have: bf16[64,128]
  help: keep the ref as f32 or i32
)MESSAGE");
}

TEST(TpuRules, SM6628_SubelementMask) {
  EXPECT_EQ(refusalOf("v4", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<100xi8, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %a = vector.load %s0[%zero] : memref<100xi8, #tpu.memory_space<vmem>>, vector<100xi8>
    tpu.vector_store %s0[%zero], %a {strides = array<i32>} : memref<100xi8, #tpu.memory_space<vmem>>, vector<100xi8>,
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6628]: 8-bit subelement masking is only supported for TPU v5+
  --> k.mlir:11:5
   in kernel 'kernel'
   in chip v4
  need: a multiple of 512 elements
  have: i8[100]
  help: keep the array two-dimensional, or as i32
)MESSAGE");
}

TEST(TpuRules, SM6605_Vmem) {
  EXPECT_EQ(refusalOf("v5e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<8192x1024xf32, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %v = vector.load %s0[%zero, %zero] : memref<8192x1024xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    vector.store %v, %o[%zero, %zero] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6605]: Ran out of memory in memory space vmem
  --> k.mlir:2:3
   in kernel 'kernel'
   in chip v5e
  need: at most 16.00 MiB
  have: 32.02 MiB: windows and scratch 32.02 MiB, what the compiler adds about 0.00 MiB; most is scratch 0: 1 × f32[8192,1024], 32.00 MiB (k.mlir:10:10)
  help: choose smaller blocks, or set vmem_limit_bytes (the chip has 128 MiB)
)MESSAGE");
}

}  // namespace
}  // namespace smalti::testing
