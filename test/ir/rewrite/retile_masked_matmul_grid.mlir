// The last block of the sum is partial, and what lies past the end is put to zero: the sum in one step has no partial
// block.
// RUN: smalti-opt %s --smalti-retile-masked-matmul-grid | FileCheck %s
// RUN: smalti-opt %s --smalti-retile-matmul-grid | FileCheck %s --check-prefix=MASKED

// CHECK: iteration_bounds = array<i64: {{[0-9]+}}, {{[0-9]+}}, 1>
// CHECK-NOT: arith.select
// CHECK: tpu.matmul %{{.*}} : vector<{{[0-9]+}}x500xf32>, vector<500x{{[0-9]+}}xf32>
// CHECK-NOT: arith.select
// Blocks whose places the body asks for stay.
// MASKED: iteration_bounds = array<i64: 4, 4, 4>
// MASKED: arith.select
module attributes {smalti.operands = [tensor<512x500xf32>, tensor<500x512xf32>], smalti.results = [tensor<512x512xf32>]} {
  func.func @kernel(%i: i32, %j: i32, %k: i32, %x: memref<128x128xf32, #tpu.memory_space<vmem>>, %y: memref<128x128xf32, #tpu.memory_space<vmem>>, %o: memref<128x128xf32, #tpu.memory_space<vmem>>, %acc: memref<128x128xf32, #tpu.memory_space<vmem>>) attributes {scalar_prefetch = 0 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>, iteration_bounds = array<i64: 4, 4, 4>, window_params = [{transform_indices = @left, window_bounds = array<i64: 128, 128>}, {transform_indices = @right, window_bounds = array<i64: 128, 128>}, {transform_indices = @result, window_bounds = array<i64: 128, 128>}], dimension_semantics = [#tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<arbitrary>]} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : vector<128x128xf32>
    %first = arith.constant 0 : i32
    %last = arith.constant 3 : i32
    %starts = arith.cmpi eq, %k, %first : i32
    scf.if %starts {
      "tpu.vector_store"(%zero, %acc, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>, add = false}> : (vector<128x128xf32>, memref<128x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    }
    %a0 = vector.load %x[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32>
    %b0 = vector.load %y[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32>
    %size = arith.constant 128 : i32
    %extent = arith.constant dense<500> : vector<128x128xi32>
    %begin = arith.muli %k, %size : i32
    %begins = vector.broadcast %begin : i32 to vector<128x128xi32>
    %columns = tpu.iota {dimensions = array<i32: 1>} : vector<128x128xi32>
    %depthsOfA = arith.addi %begins, %columns : vector<128x128xi32>
    %insideA = arith.cmpi slt, %depthsOfA, %extent : vector<128x128xi32>
    %a = arith.select %insideA, %a0, %zero : vector<128x128xi1>, vector<128x128xf32>
    %rows = tpu.iota {dimensions = array<i32: 0>} : vector<128x128xi32>
    %depthsOfB = arith.addi %begins, %rows : vector<128x128xi32>
    %insideB = arith.cmpi slt, %depthsOfB, %extent : vector<128x128xi32>
    %b = arith.select %insideB, %b0, %zero : vector<128x128xi1>, vector<128x128xf32>
    %p = tpu.matmul %a, %b, %zero {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false} : vector<128x128xf32>, vector<128x128xf32>, vector<128x128xf32> -> vector<128x128xf32>
    %before = vector.load %acc[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32>
    %sum = arith.addf %before, %p : vector<128x128xf32>
    "tpu.vector_store"(%sum, %acc, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>, add = false}> : (vector<128x128xf32>, memref<128x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    %ends = arith.cmpi eq, %k, %last : i32
    scf.if %ends {
      %all = vector.load %acc[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32>
      "tpu.vector_store"(%all, %o, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>, add = false}> : (vector<128x128xf32>, memref<128x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    }
    return
  }
  func.func @left(%i: i32, %j: i32, %k: i32) -> (i32, i32) {
    return %i, %k : i32, i32
  }
  func.func @right(%i: i32, %j: i32, %k: i32) -> (i32, i32) {
    return %k, %j : i32, i32
  }
  func.func @result(%i: i32, %j: i32, %k: i32) -> (i32, i32) {
    return %i, %j : i32, i32
  }
}
