"builtin.module"() <{sym_name = "gather"}> ({
  "func.func"() <{function_type = (memref<8x128xf32, #tpu.memory_space<vmem>>, memref<8x128xi32, #tpu.memory_space<vmem>>, memref<8x128xf32, #tpu.memory_space<vmem>>) -> (), sym_name = "main"}> ({
  ^bb0(%arg0: memref<8x128xf32, #tpu.memory_space<vmem>>, %arg1: memref<8x128xi32, #tpu.memory_space<vmem>>, %arg2: memref<8x128xf32, #tpu.memory_space<vmem>>):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 0 : index}> : () -> index
    %2 = "vector.load"(%arg0, %0, %1) : (memref<8x128xf32, #tpu.memory_space<vmem>>, index, index) -> vector<8x128xf32>
    %3 = "arith.constant"() <{value = 0 : index}> : () -> index
    %4 = "arith.constant"() <{value = 0 : index}> : () -> index
    %5 = "vector.load"(%arg1, %3, %4) : (memref<8x128xi32, #tpu.memory_space<vmem>>, index, index) -> vector<8x128xi32>
    %6 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %7 = "vector.broadcast"(%6) : (i32) -> vector<8x128xi32>
    %8 = "arith.cmpi"(%5, %7) <{predicate = 2 : i64}> : (vector<8x128xi32>, vector<8x128xi32>) -> vector<8x128xi1>
    %9 = "arith.constant"() <{value = 128 : i32}> : () -> i32
    %10 = "vector.broadcast"(%9) : (i32) -> vector<8x128xi32>
    %11 = "arith.addi"(%5, %10) <{overflowFlags = #arith.overflow<none>}> : (vector<8x128xi32>, vector<8x128xi32>) -> vector<8x128xi32>
    %12 = "arith.select"(%8, %11, %5) : (vector<8x128xi1>, vector<8x128xi32>, vector<8x128xi32>) -> vector<8x128xi32>
    %13 = "vector.shape_cast"(%12) : (vector<8x128xi32>) -> vector<8x128x1xi32>
    %14 = "vector.shape_cast"(%13) : (vector<8x128x1xi32>) -> vector<8x128xi32>
    %15 = "tpu.dynamic_gather"(%2, %14) <{dimensions = array<i32: 1>}> : (vector<8x128xf32>, vector<8x128xi32>) -> vector<8x128xf32>
    %16 = "arith.constant"() <{value = 0 : index}> : () -> index
    %17 = "arith.constant"() <{value = 0 : index}> : () -> index
    %18 = "vector.load"(%arg2, %16, %17) : (memref<8x128xf32, #tpu.memory_space<vmem>>, index, index) -> vector<8x128xf32>
    "tpu.vector_store"(%15, %arg2, %16, %17) <{add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>}> : (vector<8x128xf32>, memref<8x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    "func.return"() : () -> ()
  }) {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64} : () -> ()
}) {stable_mosaic.version = 4 : i64} : () -> ()

