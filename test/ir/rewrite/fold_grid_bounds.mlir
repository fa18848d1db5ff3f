// The bound of a static grid axis is a constant; that of a dynamic one is asked for.
// RUN: smalti-opt %s --smalti-fold-grid-bounds | FileCheck %s

// CHECK: %[[BOUND:.*]] = arith.constant 6 : i32
// CHECK-NOT: tpu.iteration_bound
// CHECK: memref.store %[[BOUND]]
module attributes {smalti.operands = [], smalti.results = [tensor<1xi32>]} {
  func.func @kernel(%i: i32, %o: memref<1xi32, #tpu.memory_space<smem>>) attributes {scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, iteration_bounds = array<i64: 6>, window_params = [{transform_indices = @whole, window_bounds = array<i64: 1>}], dimension_semantics = [#tpu.dimension_semantics<arbitrary>]} {
    %c0 = arith.constant 0 : index
    %n = tpu.iteration_bound 0 : i32
    memref.store %n, %o[%c0] : memref<1xi32, #tpu.memory_space<smem>>
    return
  }
  func.func @whole(%i: i32) -> i32 {
    %c0 = arith.constant 0 : i32
    return %c0 : i32
  }
}
