// Products by hand on a matrix unit are products: weights that stay loaded, a queue in its order, a sum in an accumulator.
// RUN: smalti-opt %s --smalti-multiply-without-units | FileCheck %s

// CHECK-LABEL: func.func @kernel
// CHECK: %[[X:.*]] = vector.load %arg1
// CHECK: %[[W:.*]] = vector.load %arg2
// CHECK: %[[FIRST:.*]] = tpu.matmul %[[X]], %[[W]], %{{.*}} {{{.*}}transpose_rhs = true{{.*}}}
// CHECK: %[[SECOND:.*]] = tpu.matmul %[[X]], %[[W]], %{{.*}}
// CHECK: tpu.vector_store %arg3{{.*}}, %[[FIRST]]
// CHECK: %[[SUM:.*]] = tpu.matmul %[[X]], %[[W]], %{{.*}}
// CHECK: %[[MORE:.*]] = tpu.matmul %[[X]], %[[W]], %[[SUM]]
// CHECK: %[[ALL:.*]] = arith.addf %[[SECOND]], %[[MORE]]
// CHECK: tpu.vector_store %arg4{{.*}}, %[[ALL]]
// CHECK-NOT: tpu.matmul_
module attributes {smalti.operands = [tensor<128x128xbf16>, tensor<128x128xbf16>], smalti.results = [tensor<128x128xf32>, tensor<128x128xf32>]} {
  func.func @kernel(%i: i32, %x: memref<128x128xbf16, #tpu.memory_space<vmem>>, %w: memref<128x128xbf16, #tpu.memory_space<vmem>>, %y: memref<128x128xf32, #tpu.memory_space<vmem>>, %z: memref<128x128xf32, #tpu.memory_space<vmem>>) attributes {scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, iteration_bounds = array<i64: 1>, window_params = [{transform_indices = @whole, window_bounds = array<i64: 128, 128>}, {transform_indices = @whole, window_bounds = array<i64: 128, 128>}, {transform_indices = @whole, window_bounds = array<i64: 128, 128>}, {transform_indices = @whole, window_bounds = array<i64: 128, 128>}], dimension_semantics = [#tpu.dimension_semantics<arbitrary>]} {
    %c0 = arith.constant 0 : index
    %xv = vector.load %x[%c0, %c0] : memref<128x128xbf16, #tpu.memory_space<vmem>>, vector<128x128xbf16>
    %wv = vector.load %w[%c0, %c0] : memref<128x128xbf16, #tpu.memory_space<vmem>>, vector<128x128xbf16>
    tpu.matmul_push_rhs %wv {mxu_index = 0 : i32, transpose = true} : vector<128x128xbf16>
    tpu.matmul_push_rhs %wv {mxu_index = 0 : i32, staging_register = 1 : i32} : vector<128x128xbf16>
    tpu.matmul_lhs_fifo %xv {load_staged_rhs = 0 : i32, mxu_index = 0 : i32} : vector<128x128xbf16>
    tpu.matmul_lhs_fifo %xv {load_staged_rhs = 1 : i32, mxu_index = 0 : i32} : vector<128x128xbf16>
    %first = tpu.matmul_pop_fifo 0 : vector<128x128xf32>
    "tpu.vector_store"(%first, %y, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>, add = false}> : (vector<128x128xf32>, memref<128x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    %second = tpu.matmul_pop_fifo 0 : vector<128x128xf32>
    tpu.matmul_acc_lhs 3, %xv {mxu_index = 0 : i32} : vector<128x128xbf16>
    tpu.matmul_acc_lhs 3, %xv {mxu_index = 0 : i32} : vector<128x128xbf16>
    %sum = tpu.matmul_pop 3 {mxu_index = 0 : i32} : vector<128x128xf32>
    %all = arith.addf %second, %sum : vector<128x128xf32>
    "tpu.vector_store"(%all, %z, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>, add = false}> : (vector<128x128xf32>, memref<128x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @whole(%i: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
}
