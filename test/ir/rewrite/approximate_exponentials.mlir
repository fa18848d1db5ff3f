// The weights of a softmax that is rounded to bf16 may be less exact; exponentials that are stored as f32 stay as they are.
// RUN: smalti-opt %s --smalti-approximate-exponentials | FileCheck %s

// CHECK: math.exp %{{.*}} {tolerance = array<f64: {{[0-9.]+}}E-38, 7.62939453125E-6>} : vector<8x128xf32>
// CHECK: math.exp %{{.*}} : vector<8x128xf32>
module attributes {smalti.operands = [tensor<8x128xf32>], smalti.results = [tensor<8x128xbf16>, tensor<8x128xf32>]} {
  func.func @kernel(%i: i32, %x: memref<8x128xf32, #tpu.memory_space<vmem>>, %o: memref<8x128xbf16, #tpu.memory_space<vmem>>, %p: memref<8x128xf32, #tpu.memory_space<vmem>>) attributes {scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, iteration_bounds = array<i64: 1>, window_params = [{transform_indices = @whole, window_bounds = array<i64: 8, 128>}, {transform_indices = @whole, window_bounds = array<i64: 8, 128>}, {transform_indices = @whole, window_bounds = array<i64: 8, 128>}], dimension_semantics = [#tpu.dimension_semantics<arbitrary>]} {
    %c0 = arith.constant 0 : index
    %none = arith.constant dense<0.0> : vector<8xf32>
    %a = vector.load %x[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    %lowest = arith.constant dense<0xFF800000> : vector<8xf32>
    %r = vector.multi_reduction <maximumf>, %a, %lowest [1] : vector<8x128xf32> to vector<8xf32>
    %m = vector.shape_cast %r : vector<8xf32> to vector<8x1xf32>
    %maxima = vector.broadcast %m : vector<8x1xf32> to vector<8x128xf32>
    %d = arith.subf %a, %maxima : vector<8x128xf32>
    %e = math.exp %d : vector<8x128xf32>
    %l = vector.multi_reduction <add>, %e, %none [1] : vector<8x128xf32> to vector<8xf32>
    %column = vector.shape_cast %l : vector<8xf32> to vector<8x1xf32>
    %sums = vector.broadcast %column : vector<8x1xf32> to vector<8x128xf32>
    %w = arith.divf %e, %sums : vector<8x128xf32>
    %n = arith.truncf %w : vector<8x128xf32> to vector<8x128xbf16>
    "tpu.vector_store"(%n, %o, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>, add = false}> : (vector<8x128xbf16>, memref<8x128xbf16, #tpu.memory_space<vmem>>, index, index) -> ()
    %b = math.exp %a : vector<8x128xf32>
    "tpu.vector_store"(%b, %p, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>, add = false}> : (vector<8x128xf32>, memref<8x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @whole(%i: i32) -> (i32, i32) {
    %c0 = arith.constant 0 : i32
    return %c0, %c0 : i32, i32
  }
}
