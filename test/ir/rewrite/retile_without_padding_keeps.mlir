// A body that uses its grid index keeps its blocks.
// RUN: smalti-opt %s --smalti-retile-without-padding | FileCheck %s

// CHECK: iteration_bounds = array<i64: 16, 16>
// CHECK-SAME: window_bounds = array<i64: 256, 256>
module attributes {smalti.operands = [tensor<4000x4000xf32>], smalti.results = [tensor<4000x4000xf32>]} {
  func.func @kernel(%i: i32, %j: i32, %x: memref<256x256xf32, #tpu.memory_space<vmem>>, %o: memref<256x256xf32, #tpu.memory_space<vmem>>) attributes {scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, iteration_bounds = array<i64: 16, 16>, window_params = [{transform_indices = @block, window_bounds = array<i64: 256, 256>}, {transform_indices = @block, window_bounds = array<i64: 256, 256>}], dimension_semantics = [#tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<parallel>]} {
    %c0 = arith.constant 0 : index
    %v = vector.load %x[%c0, %c0] : memref<256x256xf32, #tpu.memory_space<vmem>>, vector<256x256xf32>
    %k = arith.muli %i, %j : i32
    %f = arith.sitofp %k : i32 to f32
    %w = vector.broadcast %f : f32 to vector<256x256xf32>
    %s = arith.addf %v, %w : vector<256x256xf32>
    "tpu.vector_store"(%s, %o, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>, add = false}> : (vector<256x256xf32>, memref<256x256xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @block(%i: i32, %j: i32) -> (i32, i32) {
    return %i, %j : i32, i32
  }
}
