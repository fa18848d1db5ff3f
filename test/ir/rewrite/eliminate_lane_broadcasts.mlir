// A running maximum that all lanes hold is computed once per row, in scratch one column wide.
// RUN: smalti-opt %s --smalti-eliminate-lane-broadcasts | FileCheck %s

// CHECK: %[[M:[a-z0-9]+]]: memref<16x1xf32, #tpu.memory_space<vmem>>)
// CHECK: arith.maximumf %{{.*}} : vector<16x1xf32>
// CHECK: arith.subf %{{.*}} : vector<16x128xf32>
module attributes {smalti.operands = [tensor<32x384xf32>], smalti.results = [tensor<32x384xf32>]} {
  func.func @kernel(%i: i32, %j: i32, %x: memref<16x128xf32, #tpu.memory_space<vmem>>, %o: memref<16x128xf32, #tpu.memory_space<vmem>>, %m: memref<16x128xf32, #tpu.memory_space<vmem>>) attributes {scalar_prefetch = 0 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>, iteration_bounds = array<i64: 2, 3>, window_params = [{transform_indices = @block, window_bounds = array<i64: 16, 128>}, {transform_indices = @block, window_bounds = array<i64: 16, 128>}], dimension_semantics = [#tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<arbitrary>]} {
    %c0 = arith.constant 0 : index
    %first = arith.constant 0 : i32
    %low = arith.constant dense<-100.0> : vector<16x128xf32>
    %least = arith.constant dense<0xFF800000> : vector<16xf32>
    %starts = arith.cmpi eq, %j, %first : i32
    scf.if %starts {
      "tpu.vector_store"(%low, %m, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>, add = false}> : (vector<16x128xf32>, memref<16x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    }
    %block = vector.load %x[%c0, %c0] : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<16x128xf32>
    %most = vector.multi_reduction <maximumf>, %block, %least [1] : vector<16x128xf32> to vector<16xf32>
    %column = vector.shape_cast %most : vector<16xf32> to vector<16x1xf32>
    %wide = vector.broadcast %column : vector<16x1xf32> to vector<16x128xf32>
    %before = vector.load %m[%c0, %c0] : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<16x128xf32>
    %largest = arith.maximumf %before, %wide : vector<16x128xf32>
    "tpu.vector_store"(%largest, %m, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>, add = false}> : (vector<16x128xf32>, memref<16x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    %now = vector.load %m[%c0, %c0] : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<16x128xf32>
    %difference = arith.subf %block, %now : vector<16x128xf32>
    "tpu.vector_store"(%difference, %o, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>, add = false}> : (vector<16x128xf32>, memref<16x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @block(%i: i32, %j: i32) -> (i32, i32) {
    return %i, %j : i32, i32
  }
}
