// Ops between a product and its store come before the product. An op that may write to memory keeps its place.
// RUN: smalti-opt %s --smalti-hoist-above-products | FileCheck %s

// CHECK-LABEL: func.func @kernel
// CHECK: %[[A:.*]] = vector.load %[[X:.*]][
// CHECK: %[[OLD:.*]] = vector.load %[[ACC:.*]][
// CHECK: %[[E:.*]] = math.exp %[[A]]
// CHECK: %[[P:.*]] = tpu.matmul %[[A]], %[[A]]
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[OLD]], %[[P]]
// CHECK-NEXT: tpu.vector_store %[[ACC]][{{.*}}], %[[S]]
// CHECK: tpu.vector_store %[[O:.*]][{{.*}}], %[[E]]
// The second product is not next to its store: a store is between them.
// CHECK: %[[Q:.*]] = tpu.matmul
// CHECK-NEXT: tpu.vector_store %[[X]][{{.*}}], %[[A]]
// CHECK: tpu.vector_store %[[O]][{{.*}}], %[[Q]]
module attributes {smalti.operands = [tensor<128x128xf32>], smalti.results = [tensor<128x128xf32>]} {
  func.func @kernel(%i: i32, %x: memref<128x128xf32, #tpu.memory_space<vmem>>, %o: memref<128x128xf32, #tpu.memory_space<vmem>>, %acc: memref<128x128xf32, #tpu.memory_space<vmem>>) attributes {scalar_prefetch = 0 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>, iteration_bounds = array<i64: 1>, window_params = [{transform_indices = @whole, window_bounds = array<i64: 128, 128>}, {transform_indices = @whole, window_bounds = array<i64: 128, 128>}], dimension_semantics = [#tpu.dimension_semantics<arbitrary>]} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : vector<128x128xf32>
    %a = vector.load %x[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32>
    %p = tpu.matmul %a, %a, %zero {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false} : vector<128x128xf32>, vector<128x128xf32>, vector<128x128xf32> -> vector<128x128xf32>
    %before = vector.load %acc[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32>
    %e = math.exp %a : vector<128x128xf32>
    %sum = arith.addf %before, %p : vector<128x128xf32>
    "tpu.vector_store"(%sum, %acc, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>, add = false}> : (vector<128x128xf32>, memref<128x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    "tpu.vector_store"(%e, %o, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>, add = false}> : (vector<128x128xf32>, memref<128x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    %q = tpu.matmul %a, %e, %zero {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false} : vector<128x128xf32>, vector<128x128xf32>, vector<128x128xf32> -> vector<128x128xf32>
    "tpu.vector_store"(%a, %x, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>, add = false}> : (vector<128x128xf32>, memref<128x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    "tpu.vector_store"(%q, %o, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>, add = false}> : (vector<128x128xf32>, memref<128x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @whole(%i: i32) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %zero, %zero : i32, i32
  }
}
