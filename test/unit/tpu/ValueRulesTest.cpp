// Every rule about values, types and control: the kernel that breaks it, the chip, and the whole message. The kernels
// are Mosaic text, as Pallas lowers them; docs/errors has a page for each.
#include <gtest/gtest.h>

#include "RuleTesting.h"

namespace smalti::testing {
namespace {

TEST(TpuRules, SM6616_ElementType) {
  EXPECT_EQ(refusalOf("v5e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<16x128xi16, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %a = vector.load %s0[%zero, %zero] : memref<16x128xi16, #tpu.memory_space<vmem>>, vector<16x128xi16>
    %v = arith.maxsi %a, %a : vector<16x128xi16>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6616]: failed to legalize operation 'arith.maxsi'
  --> k.mlir:11:10
   in kernel 'kernel'
   in chip v5e
  need: 32-bit integers
  have: arith.maxsi of i16[16,128]
  help: compute in f32 or i32, and convert the result
)MESSAGE");
}

TEST(TpuRules, SM6617_NarrowArithmetic) {
  EXPECT_EQ(refusalOf("v5e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<32x128xi8, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %a = vector.load %s0[%zero, %zero] : memref<32x128xi8, #tpu.memory_space<vmem>>, vector<32x128xi8>
    %v = arith.addi %a, %a : vector<32x128xi8>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6617]: Only vector<i16> and vector<i32> are supported, but got 'i8'
  --> k.mlir:11:10
   in kernel 'kernel'
   in chip v5e
  need: i32 or i16
  have: arith.addi of i8[32,128]
  help: compute in f32 or i32, and convert the result
)MESSAGE");
}

TEST(TpuRules, SM6618_ShapeCast) {
  EXPECT_EQ(refusalOf("v5e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<4x256xf32, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %a = vector.load %s0[%zero, %zero] : memref<4x256xf32, #tpu.memory_space<vmem>>, vector<4x256xf32>
    %v = vector.shape_cast %a : vector<4x256xf32> to vector<16x64xf32>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6618]: infer-vector-layout: unsupported shape cast
  --> k.mlir:11:10
   in kernel 'kernel'
   in chip v5e
  need: equal last dimensions, multiples of 128, or one that divides the other and both at most 128
  have: f32[4,256] to f32[16,64]
  help: keep the last dimension, or reshape the array outside of the kernel
)MESSAGE");
}

/// The dimensions before a tail that is folded, or cut, may change as well.
TEST(TpuRules, SM6618_TailsFoldWhateverComesBeforeThem) {
  const auto cast = [](const char* from, const char* indices, const char* to) {
    return std::string(R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<)MLIR") +
           from + R"MLIR(, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %a = vector.load %s0[)MLIR" +
           indices + "] : memref<" + from + ", #tpu.memory_space<vmem>>, vector<" + from +
           ">\n    %v = vector.shape_cast %a : vector<" + from + "> to vector<" + to + R"MLIR(>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR";
  };
  EXPECT_EQ(refusalOf("v5e", {16, 128}, cast("4x4x960xf32", "%zero, %zero, %zero", "2x2x4x8x120xf32")), "");
  EXPECT_EQ(refusalOf("v5e", {16, 128}, cast("6x8x120xf32", "%zero, %zero, %zero", "2x3x960xf32")), "");
  EXPECT_NE(refusalOf("v5e", {16, 128}, cast("4x960xf32", "%zero, %zero", "8x480xf32")), "");
  EXPECT_NE(refusalOf("v5e", {16, 128}, cast("8x120xf32", "%zero, %zero", "960xf32")), "");
}

TEST(TpuRules, SM6619_GatherWidth) {
  EXPECT_EQ(refusalOf("v5e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<16x128xbf16, #tpu.memory_space<vmem>>, %s1: memref<16x128xi32, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 2 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %a = vector.load %s0[%zero, %zero] : memref<16x128xbf16, #tpu.memory_space<vmem>>, vector<16x128xbf16>
    %b = vector.load %s1[%zero, %zero] : memref<16x128xi32, #tpu.memory_space<vmem>>, vector<16x128xi32>
    %v = tpu.dynamic_gather %a[%b] in [1] : vector<16x128xbf16>, vector<16x128xi32> -> vector<16x128xbf16>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6619]: Gather indices and result have different bitwidths
  --> k.mlir:12:10
   in kernel 'kernel'
   in chip v5e
  need: indices of 16 bits
  have: bf16[16,128] by i32[16,128]
  help: convert the values to 32 bits, gather, and convert back
)MESSAGE");
}

TEST(TpuRules, SM6620_GatherRegisters) {
  EXPECT_EQ(refusalOf("v5e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<8x256xf32, #tpu.memory_space<vmem>>, %s1: memref<8x256xi32, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 2 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %a = vector.load %s0[%zero, %zero] : memref<8x256xf32, #tpu.memory_space<vmem>>, vector<8x256xf32>
    %b = vector.load %s1[%zero, %zero] : memref<8x256xi32, #tpu.memory_space<vmem>>, vector<8x256xi32>
    %v = tpu.dynamic_gather %a[%b] in [1] : vector<8x256xf32>, vector<8x256xi32> -> vector<8x256xf32>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6620]: Multiple source vregs along gather dimension
  --> k.mlir:12:10
   in kernel 'kernel'
   in chip v5e
  need: at most 128 elements along axis 1
  have: f32[8,256]
  help: gather from pieces of that size, and choose among the results
)MESSAGE");
}

TEST(TpuRules, SM6626_ScalarExtract) {
  EXPECT_EQ(refusalOf("v5e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<1x1xbf16, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %a = vector.load %s0[%zero, %zero] : memref<1x1xbf16, #tpu.memory_space<vmem>>, vector<1x1xbf16>
    %v = vector.extract %a[0, 0] : bf16 from vector<1x1xbf16>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6626]: Only 32-bit scalar vector.extracts supported
  --> k.mlir:11:10
   in kernel 'kernel'
   in chip v5e
  need: an element of f32 or i32
  have: bf16[]
  help: keep it as a (1, 1) array, or convert the vector first
)MESSAGE");
}

TEST(TpuRules, SM6627_SublaneGather) {
  EXPECT_EQ(refusalOf("v4", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<128x1xf32, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %a = vector.load %s0[%zero, %zero] : memref<128x1xf32, #tpu.memory_space<vmem>>, vector<128x1xf32>
    %v = vector.shape_cast %a : vector<128x1xf32> to vector<1x128xf32>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6627]: Sublane gather not supported by this TPU generation
  --> k.mlir:11:10
   in kernel 'kernel'
   in chip v4
  need: rows that stay rows
  have: f32[128,1] to f32[1,128]: rows become lanes
  help: keep the column, or transpose a full tile
)MESSAGE");
}

TEST(TpuRules, SM6629_NarrowShift) {
  EXPECT_EQ(refusalOf("v4", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<32x128xi8, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %a = vector.load %s0[%zero, %zero] : memref<32x128xi8, #tpu.memory_space<vmem>>, vector<32x128xi8>
    %v = arith.shli %a, %a : vector<32x128xi8>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6629]: unsigned integer unpacking emulation of narrow integers is not implemented
  --> k.mlir:11:10
   in kernel 'kernel'
   in chip v4
  need: 16-bit or 32-bit integers
  have: arith.shli of i8[32,128]
  help: compute in f32 or i32, and convert the result
)MESSAGE");
}

TEST(TpuRules, SM6630_CoreParallel) {
  EXPECT_EQ(
      refusalOf("v5e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<core_parallel>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
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
      R"MESSAGE(error[SM6630]: Core-parallel dimension 0 has iteration bound: 2, which is not the number of active cores: 1
  --> k.mlir:2:3
   in kernel 'kernel'
   in chip v5e
  need: 1 steps along a core_parallel axis
  have: 2
  help: mark the axis parallel instead
)MESSAGE");
}

TEST(TpuRules, SM6631_UnsupportedType) {
  EXPECT_EQ(refusalOf("v6e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<32x128xf8E4M3FN, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %a = vector.load %s0[%zero, %zero] : memref<32x128xf8E4M3FN, #tpu.memory_space<vmem>>, vector<32x128xf8E4M3FN>
    %v = arith.truncf %a : vector<32x128xf8E4M3FN> to vector<32x128xf4E2M1FN>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6631]: Conversion to 4-bit not supported before TPUv7
  --> k.mlir:11:10
   in kernel 'kernel'
   in chip v6e
  need: 8-bit floats or wider
  have: f4e2m1fn[32,128]
  help: use another chip, or f8e4m3fn
)MESSAGE");
}

TEST(TpuRules, SM6631_ScalesAreNotMade) {
  EXPECT_EQ(refusalOf("v7x", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<32x128xf8E4M3FN, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %a = vector.load %s0[%zero, %zero] : memref<32x128xf8E4M3FN, #tpu.memory_space<vmem>>, vector<32x128xf8E4M3FN>
    %v = arith.truncf %a : vector<32x128xf8E4M3FN> to vector<32x128xf8E8M0FNU>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6631]: unsupported source element type 'f8e4m3fn'
  --> k.mlir:11:10
   in kernel 'kernel'
   in chip v7x
  need: a result that is not f8e8m0fnu
  have: f8e8m0fnu[32,128]
  help: compute the exponent with integers, and bitcast it
)MESSAGE");
}

TEST(TpuRules, SM6632_BoolCarry) {
  EXPECT_EQ(refusalOf("v5e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<8x128xi32, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %a = vector.load %s0[%zero, %zero] : memref<8x128xi32, #tpu.memory_space<vmem>>, vector<8x128xi32>
    %m = arith.cmpi eq, %a, %a : vector<8x128xi32>
    %one = arith.constant 1 : i32
    %v = scf.for %j = %z to %one step %one iter_args(%c = %m) -> (vector<8x128xi1>) : i32 {
      scf.yield %c : vector<8x128xi1>
    }
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6632]: failed to legalize operation 'scf.for'
  --> k.mlir:13:10
   in kernel 'kernel'
   in chip v5e
  need: carried vectors of numbers
  have: pred[8,128]
  help: carry it as i32, and compare with 0
)MESSAGE");
}

TEST(TpuRules, SM6633_BoolRelayout) {
  EXPECT_EQ(refusalOf("v5e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<8x128xi32, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %a = vector.load %s0[%zero, %zero] : memref<8x128xi32, #tpu.memory_space<vmem>>, vector<8x128xi32>
    %m = arith.cmpi eq, %a, %a : vector<8x128xi32>
    %v = tpu.dynamic_rotate %m by %z dim 0 : vector<8x128xi1>, i32 -> vector<8x128xi1>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6633]: changeBitwidth when src bitwidth and dst bitwidth differs too much
  --> k.mlir:12:10
   in kernel 'kernel'
   in chip v5e
  need: integers or floats
  have: pred[8,128]
  help: convert to i32, roll, and compare with 0
)MESSAGE");
}

TEST(TpuRules, SM6634_UnsupportedOp) {
  EXPECT_EQ(refusalOf("v5e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<16x128xbf16, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %a = vector.load %s0[%zero, %zero] : memref<16x128xbf16, #tpu.memory_space<vmem>>, vector<16x128xbf16>
    %v = tpu.reciprocal %a {approx = true, full_range = false} : vector<16x128xbf16> -> vector<16x128xbf16>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6634]: Target platform does not support BF16 ReciprocalOp
  --> k.mlir:11:10
   in kernel 'kernel'
   in chip v5e
  need: f32
  have: tpu.reciprocal of bf16[16,128]
  help: compute in f32 or i32, and convert the result
)MESSAGE");
}

TEST(TpuRules, SM6635_ScalarType) {
  EXPECT_EQ(refusalOf("v5e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<8xi16, #tpu.memory_space<smem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %a = memref.load %s0[%zero] : memref<8xi16, #tpu.memory_space<smem>>
    %v = arith.addi %a, %a : i16
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6635]: Only i32 arith.addi is supported, but got 'i16[]'
  --> k.mlir:11:10
   in kernel 'kernel'
   in chip v5e
  need: scalars of f32 or i32
  have: i16[]
  help: convert the scalar before computing with it
)MESSAGE");
}

TEST(TpuRules, SM6640_MatrixQueue) {
  EXPECT_EQ(refusalOf("v5e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<256x128xbf16, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %a = vector.load %s0[%zero, %zero] : memref<256x128xbf16, #tpu.memory_space<vmem>>, vector<16x128xbf16>
    tpu.matmul_lhs_fifo %a {mxu_index = 0 : i32, load_staged_rhs = 0 : i32} : vector<16x128xbf16>
    %p = tpu.matmul_pop_fifo 0 : vector<16x128xf32>
    %q = tpu.matmul_pop_fifo 0 : vector<16x128xf32>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6640]: Cannot schedule FIFO pop instruction when the FIFO is empty
  --> k.mlir:12:10
   in kernel 'kernel'
   in chip v5e
  need: 16 rows in the queue of matrix unit 0
  have: 0 rows
  help: pop as many rows as were pushed
)MESSAGE");
  const std::string tooMany = R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<256x128xbf16, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %a = vector.load %s0[%zero, %zero] : memref<256x128xbf16, #tpu.memory_space<vmem>>, vector<256x128xbf16>
    tpu.matmul_lhs_fifo %a {mxu_index = 0 : i32, load_staged_rhs = 0 : i32} : vector<256x128xbf16>
    %p = tpu.matmul_pop_fifo 0 : vector<256x128xf32>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR";
  EXPECT_EQ(refusalOf("v5e", {16, 128}, tooMany),
            R"MESSAGE(error[SM6640]: Cannot schedule FIFO push instruction when the FIFO is full
  --> k.mlir:10:5
   in kernel 'kernel'
   in chip v5e
  need: at most 192 rows in the queue of matrix unit 0
  have: 256 rows
  help: take products out before more are pushed
)MESSAGE");
  EXPECT_EQ(refusalOf("v6e", {16, 128}, tooMany), "");
  EXPECT_NE(refusalOf("v7x", {16, 128}, tooMany).find("MatmulLhsFifoOp not supported on TPU generations >= 7"),
            std::string::npos);
}

TEST(TpuRules, SM6606_MatmulType) {
  EXPECT_EQ(refusalOf("v4", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<128x128xi8, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %a = vector.load %s0[%zero, %zero] : memref<128x128xi8, #tpu.memory_space<vmem>>, vector<128x128xi8>
    %c = arith.constant dense<0> : vector<128x128xi32>
    %v = tpu.matmul %a, %a, %c {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false} : vector<128x128xi8>, vector<128x128xi8>, vector<128x128xi32> -> vector<128x128xi32>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6606]: Unsupported matmul RHS type on target: i8
  --> k.mlir:12:10
   in kernel 'kernel'
   in chip v4
  need: f32 or bf16 operands
  have: i8[128,128] × i8[128,128] → i32[128,128]
  help: convert the operands to f32 or bf16
)MESSAGE");
}

TEST(TpuRules, SM6607_F16) {
  EXPECT_EQ(refusalOf("v5e", {16, 128}, R"MLIR(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s0: memref<8x128xf16, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %a = vector.load %s0[%zero, %zero] : memref<8x128xf16, #tpu.memory_space<vmem>>, vector<8x128xf16>
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
)MLIR"),
            R"MESSAGE(error[SM6607]: Invalid vector type for load
  --> k.mlir:10:10
   in kernel 'kernel'
   in chip v5e
  need: bf16 or f32
  have: f16[8,128]
  help: keep the array as bf16
)MESSAGE");
}

}  // namespace
}  // namespace smalti::testing
