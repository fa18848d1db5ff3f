// A product multiplies bf16 that the kernel has widened, and f32 by such bf16.
// RUN: smalti-opt %s --smalti-multiply-narrow-floats | FileCheck %s

// CHECK-NOT: arith.extf
// CHECK: tpu.matmul {{.*}} : vector<8x128xbf16>, vector<128x128xbf16>, vector<8x128xf32> -> vector<8x128xf32>
// CHECK: tpu.matmul {{.*}} : vector<8x128xf32>, vector<128x128xbf16>, vector<8x128xf32> -> vector<8x128xf32>
module attributes {smalti.operands = [tensor<8x128xbf16>, tensor<128x128xbf16>], smalti.results = [tensor<8x128xf32>]} {
  func.func @kernel(%i: i32, %x: memref<8x128xbf16, #tpu.memory_space<vmem>>, %w: memref<128x128xbf16, #tpu.memory_space<vmem>>, %o: memref<8x128xf32, #tpu.memory_space<vmem>>) attributes {scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, iteration_bounds = array<i64: 1>, window_params = [{transform_indices = @whole, window_bounds = array<i64: 8, 128>}, {transform_indices = @whole, window_bounds = array<i64: 128, 128>}, {transform_indices = @whole, window_bounds = array<i64: 8, 128>}], dimension_semantics = [#tpu.dimension_semantics<arbitrary>]} {
    %c0 = arith.constant 0 : index
    %none = arith.constant dense<0.0> : vector<8x128xf32>
    %a = vector.load %x[%c0, %c0] : memref<8x128xbf16, #tpu.memory_space<vmem>>, vector<8x128xbf16>
    %b = vector.load %w[%c0, %c0] : memref<128x128xbf16, #tpu.memory_space<vmem>>, vector<128x128xbf16>
    %wide_a = arith.extf %a : vector<8x128xbf16> to vector<8x128xf32>
    %wide_b = arith.extf %b : vector<128x128xbf16> to vector<128x128xf32>
    %s = tpu.matmul %wide_a, %wide_b, %none {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false} : vector<8x128xf32>, vector<128x128xf32>, vector<8x128xf32> -> vector<8x128xf32>
    %p = math.exp %s : vector<8x128xf32>
    %r = tpu.matmul %p, %wide_b, %none {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false} : vector<8x128xf32>, vector<128x128xf32>, vector<8x128xf32> -> vector<8x128xf32>
    "tpu.vector_store"(%r, %o, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>, add = false}> : (vector<8x128xf32>, memref<8x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @whole(%i: i32) -> (i32, i32) {
    %c0 = arith.constant 0 : i32
    return %c0, %c0 : i32, i32
  }
}
