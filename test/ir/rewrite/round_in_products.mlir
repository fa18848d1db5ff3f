// A skinny product reads its right operand as f32 and rounds it in registers. One of more rows reads it rounded.
// RUN: smalti-opt %s --smalti-round-in-products | FileCheck %s

// CHECK-LABEL: func.func @kernel
// CHECK: %[[B:.*]] = vector.load %{{.*}} : memref<1x64x128xf32{{.*}}>, vector<1x64x128xf32>
// CHECK: %[[M:.*]] = vector.shape_cast %[[B]] {in_place} : vector<1x64x128xf32> to vector<64x128xf32>
// CHECK: tpu.matmul %{{.*}}, %[[M]], %{{.*}} {{{.*}}rounds_rhs{{.*}}} : vector<8x64xf32>, vector<64x128xf32>, vector<8x128xf32> -> vector<8x128xf32>
// CHECK: %[[N:.*]] = arith.truncf
// CHECK: %[[R:.*]] = vector.shape_cast %[[N]] : vector<1x64x128xbf16> to vector<64x128xbf16>
// CHECK: tpu.matmul %{{.*}}, %[[R]], %{{.*}} : vector<16x64xf32>, vector<64x128xbf16>
module attributes {smalti.operands = [tensor<8x64xf32>, tensor<16x64xf32>, tensor<1x64x128xf32>], smalti.results = [tensor<8x128xf32>, tensor<16x128xf32>]} {
  func.func @kernel(%i: i32, %q: memref<8x64xf32, #tpu.memory_space<vmem>>, %r: memref<16x64xf32, #tpu.memory_space<vmem>>, %k: memref<1x64x128xf32, #tpu.memory_space<vmem>>, %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %p: memref<16x128xf32, #tpu.memory_space<vmem>>) attributes {scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, iteration_bounds = array<i64: 1>, window_params = [{transform_indices = @matrix, window_bounds = array<i64: 8, 64>}, {transform_indices = @matrix, window_bounds = array<i64: 16, 64>}, {transform_indices = @pages, window_bounds = array<i64: 1, 64, 128>}, {transform_indices = @matrix, window_bounds = array<i64: 8, 128>}, {transform_indices = @matrix, window_bounds = array<i64: 16, 128>}], dimension_semantics = [#tpu.dimension_semantics<arbitrary>]} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : vector<8x128xf32>
    %zeros = arith.constant dense<0.0> : vector<16x128xf32>
    %a = vector.load %q[%c0, %c0] : memref<8x64xf32, #tpu.memory_space<vmem>>, vector<8x64xf32>
    %b = vector.load %k[%c0, %c0, %c0] : memref<1x64x128xf32, #tpu.memory_space<vmem>>, vector<1x64x128xf32>
    %n = arith.truncf %b : vector<1x64x128xf32> to vector<1x64x128xbf16>
    %m = vector.shape_cast %n : vector<1x64x128xbf16> to vector<64x128xbf16>
    %s = tpu.matmul %a, %m, %zero {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false} : vector<8x64xf32>, vector<64x128xbf16>, vector<8x128xf32> -> vector<8x128xf32>
    "tpu.vector_store"(%s, %o, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>, add = false}> : (vector<8x128xf32>, memref<8x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    %a2 = vector.load %r[%c0, %c0] : memref<16x64xf32, #tpu.memory_space<vmem>>, vector<16x64xf32>
    %b2 = vector.load %k[%c0, %c0, %c0] : memref<1x64x128xf32, #tpu.memory_space<vmem>>, vector<1x64x128xf32>
    %n2 = arith.truncf %b2 : vector<1x64x128xf32> to vector<1x64x128xbf16>
    %m2 = vector.shape_cast %n2 : vector<1x64x128xbf16> to vector<64x128xbf16>
    %t = tpu.matmul %a2, %m2, %zeros {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false} : vector<16x64xf32>, vector<64x128xbf16>, vector<16x128xf32> -> vector<16x128xf32>
    "tpu.vector_store"(%t, %p, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>, add = false}> : (vector<16x128xf32>, memref<16x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @matrix(%i: i32) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %zero, %zero : i32, i32
  }
  func.func @pages(%i: i32) -> (i32, i32, i32) {
    %zero = arith.constant 0 : i32
    return %zero, %zero, %zero : i32, i32, i32
  }
}
