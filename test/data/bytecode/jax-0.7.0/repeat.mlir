"builtin.module"() <{sym_name = "repeat"}> ({
  "func.func"() <{function_type = (memref<8x128xf32, #tpu.memory_space<vmem>>, memref<8x512xf32, #tpu.memory_space<vmem>>) -> (), sym_name = "main"}> ({
  ^bb0(%arg0: memref<8x128xf32, #tpu.memory_space<vmem>>, %arg1: memref<8x512xf32, #tpu.memory_space<vmem>>):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 0 : index}> : () -> index
    %2 = "vector.load"(%arg0, %0, %1) : (memref<8x128xf32, #tpu.memory_space<vmem>>, index, index) -> vector<8x128xf32>
    %3 = "tpu.concatenate"(%2, %2, %2, %2) <{dimension = 1 : i32}> : (vector<8x128xf32>, vector<8x128xf32>, vector<8x128xf32>, vector<8x128xf32>) -> vector<8x512xf32>
    %4 = "arith.constant"() <{value = 0 : index}> : () -> index
    %5 = "arith.constant"() <{value = 0 : index}> : () -> index
    %6 = "vector.load"(%arg1, %4, %5) : (memref<8x512xf32, #tpu.memory_space<vmem>>, index, index) -> vector<8x512xf32>
    "tpu.vector_store"(%3, %arg1, %4, %5) <{add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>}> : (vector<8x512xf32>, memref<8x512xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    "func.return"() : () -> ()
  }) {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64} : () -> ()
}) {stable_mosaic.version = 4 : i64} : () -> ()

