// A kernel without a grid gets one that divides its rows; what is not indexed by rows stays whole.
// RUN: smalti-opt %s --smalti-add-grid=cores=2 | FileCheck %s
// RUN: smalti-opt %s --smalti-add-grid | FileCheck %s --check-prefix=ONE

// CHECK: iteration_bounds = array<i64: 8>
// CHECK: vector.load %{{.*}} : memref<128x1024xf32, #tpu.memory_space<vmem>>, vector<128x1024xf32>
// CHECK: vector.load %{{.*}} : memref<1x1024xf32, #tpu.memory_space<vmem>>, vector<1x1024xf32>
// CHECK: vector.multi_reduction <add>, %{{.*}} [1] : vector<128x1024xf32> to vector<128xf32>
// CHECK: vector.broadcast %{{.*}} : vector<1x1024xf32> to vector<128x1024xf32>
// CHECK: func.func @kernel_block_0(%[[I:.*]]: i32)
// CHECK: return %[[I]], %{{.*}} : i32, i32
// CHECK: func.func @kernel_block_1(%{{.*}}: i32)
// CHECK: return %[[ZERO:.*]], %[[ZERO]] : i32, i32

// ONE-NOT: kernel_block
module attributes {smalti.operands = [tensor<1024x1024xf32>, tensor<1x1024xf32>], smalti.results = [tensor<1024x1024xf32>]} {
  func.func @kernel(%x: memref<1024x1024xf32, #tpu.memory_space<vmem>>, %w: memref<1x1024xf32, #tpu.memory_space<vmem>>, %o: memref<1024x1024xf32, #tpu.memory_space<vmem>>) attributes {scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>} {
    %c0 = arith.constant 0 : index
    %v = vector.load %x[%c0, %c0] : memref<1024x1024xf32, #tpu.memory_space<vmem>>, vector<1024x1024xf32>
    %u = vector.load %w[%c0, %c0] : memref<1x1024xf32, #tpu.memory_space<vmem>>, vector<1x1024xf32>
    %zero = arith.constant dense<0.0> : vector<1024xf32>
    %sum = vector.multi_reduction <add>, %v, %zero [1] : vector<1024x1024xf32> to vector<1024xf32>
    %column = vector.shape_cast %sum : vector<1024xf32> to vector<1024x1xf32>
    %a = vector.broadcast %column : vector<1024x1xf32> to vector<1024x1024xf32>
    %b = vector.broadcast %u : vector<1x1024xf32> to vector<1024x1024xf32>
    %s = arith.addf %a, %b : vector<1024x1024xf32>
    "tpu.vector_store"(%s, %o, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>, add = false}> : (vector<1024x1024xf32>, memref<1024x1024xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
}
