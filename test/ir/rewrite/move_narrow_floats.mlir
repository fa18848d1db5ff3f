// Masked bf16 stays bf16, and the halves of words that two rows of them share are loads of every second row.
// RUN: smalti-opt %s --smalti-move-narrow-floats | FileCheck %s

// CHECK: tpu.strided_load %{{.*}} {strides = array<i32: 4, 1>} : memref<32x128xbf16, {{.*}}>, vector<8x128xbf16>
// CHECK: tpu.strided_load %{{.*}} {strides = array<i32: 4, 1>} : memref<32x128xbf16, {{.*}}>, vector<8x128xbf16>
// CHECK: arith.select %{{.*}} : vector<8x128xi1>, vector<8x128xbf16>
// CHECK-NOT: arith.truncf
module attributes {smalti.operands = [tensor<32x128xbf16>], smalti.results = [tensor<8x128xbf16>, tensor<8x128xbf16>]} {
  func.func @kernel(%i: i32, %x: memref<32x128xbf16, #tpu.memory_space<vmem>>, %k: memref<8x128xbf16, #tpu.memory_space<vmem>>, %v: memref<8x128xbf16, #tpu.memory_space<vmem>>) attributes {scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, iteration_bounds = array<i64: 1>, window_params = [{transform_indices = @whole, window_bounds = array<i64: 32, 128>}, {transform_indices = @whole, window_bounds = array<i64: 8, 128>}, {transform_indices = @whole, window_bounds = array<i64: 8, 128>}], dimension_semantics = [#tpu.dimension_semantics<arbitrary>]} {
    %c0 = arith.constant 0 : index
    %shift = arith.constant dense<16> : vector<8x128xi32>
    %upper = arith.constant dense<-65536> : vector<8x128xi32>
    %five = arith.constant dense<5> : vector<8x128xi32>
    %none = arith.constant dense<0.0> : vector<8x128xf32>
    %words = tpu.memref_bitcast %x : memref<32x128xbf16, #tpu.memory_space<vmem>> -> memref<16x128xi32, #tpu.memory_space<vmem>>
    %w = tpu.strided_load %words[%c0, %c0] {strides = array<i32: 2, 1>} : memref<16x128xi32, #tpu.memory_space<vmem>>, vector<8x128xi32>
    %low = arith.shli %w, %shift : vector<8x128xi32>
    %lowbits = tpu.bitcast %low : vector<8x128xi32> -> vector<8x128xf32>
    %even = arith.truncf %lowbits : vector<8x128xf32> to vector<8x128xbf16>
    %high = arith.andi %w, %upper : vector<8x128xi32>
    %highbits = tpu.bitcast %high : vector<8x128xi32> -> vector<8x128xf32>
    %odd = arith.truncf %highbits : vector<8x128xf32> to vector<8x128xbf16>
    %rows = tpu.iota {dimensions = array<i32: 0>} : vector<8x128xi32>
    %mask = arith.cmpi slt, %rows, %five : vector<8x128xi32>
    %wide = arith.extf %even : vector<8x128xbf16> to vector<8x128xf32>
    %masked = arith.select %mask, %wide, %none : vector<8x128xi1>, vector<8x128xf32>
    %narrow = arith.truncf %masked : vector<8x128xf32> to vector<8x128xbf16>
    "tpu.vector_store"(%narrow, %k, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>, add = false}> : (vector<8x128xbf16>, memref<8x128xbf16, #tpu.memory_space<vmem>>, index, index) -> ()
    "tpu.vector_store"(%odd, %v, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>, add = false}> : (vector<8x128xbf16>, memref<8x128xbf16, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @whole(%i: i32) -> (i32, i32) {
    %c0 = arith.constant 0 : i32
    return %c0, %c0 : i32, i32
  }
}
