"builtin.module"() <{sym_name = "steps"}> ({
  "func.func"() <{function_type = (memref<8x128xf32, #tpu.memory_space<vmem>>, memref<8x128xf32, #tpu.memory_space<any>>, memref<8x128xi32, #tpu.memory_space<vmem>>, memref<8x128xf32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>) -> (), sym_name = "steps"}> ({
  ^bb0(%arg0: memref<8x128xf32, #tpu.memory_space<vmem>>, %arg1: memref<8x128xf32, #tpu.memory_space<any>>, %arg2: memref<8x128xi32, #tpu.memory_space<vmem>>, %arg3: memref<8x128xf32, #tpu.memory_space<vmem>>, %arg4: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg5: memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %2 = "vector.load"(%arg0, %0, %0) : (memref<8x128xf32, #tpu.memory_space<vmem>>, index, index) -> vector<8x128xf32>
    %3 = "vector.load"(%arg2, %0, %0) : (memref<8x128xi32, #tpu.memory_space<vmem>>, index, index) -> vector<8x128xi32>
    %4 = "tpu.dynamic_gather"(%2, %3) <{dimensions = array<i32: 1>}> : (vector<8x128xf32>, vector<8x128xi32>) -> vector<8x128xf32>
    %5 = "tpu.iota"() <{dimensions = array<i32: 1>}> : () -> vector<8x128xi32>
    %6 = "arith.sitofp"(%5) : (vector<8x128xi32>) -> vector<8x128xf32>
    %7 = "arith.constant"() <{value = dense<0.000000e+00> : vector<8xf32>}> : () -> vector<8xf32>
    %8 = "vector.multi_reduction"(%4, %7) <{kind = #vector.kind<add>, reduction_dims = array<i64: 1>}> : (vector<8x128xf32>, vector<8xf32>) -> vector<8xf32>
    %9 = "vector.shape_cast"(%8) : (vector<8xf32>) -> vector<8x1xf32>
    %10 = "vector.broadcast"(%9) : (vector<8x1xf32>) -> vector<8x128xf32>
    %11 = "arith.constant"() <{value = dense<true> : vector<8x128xi1>}> : () -> vector<8x128xi1>
    %12 = "arith.select"(%11, %10, %6) : (vector<8x128xi1>, vector<8x128xf32>, vector<8x128xf32>) -> vector<8x128xf32>
    "tpu.vector_store"(%12, %arg3, %0, %0) <{add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>}> : (vector<8x128xf32>, memref<8x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    "tpu.sem_signal"(%arg5, %1) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>}> : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
    "tpu.sem_wait"(%arg5, %1) : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
    "func.return"() : () -> ()
  }) {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 2 : i64, tpu.core_type = #tpu.core_type<tc>} : () -> ()
}) {stable_mosaic.version = 18 : i64} : () -> ()

