"builtin.module"() ({
  "func.func"() <{function_type = (memref<8x128xf32, #tpu.memory_space<vmem>>, memref<8x128xf32, #tpu.memory_space<vmem>>) -> (), sym_name = "main"}> ({
  ^bb0(%arg0: memref<8x128xf32, #tpu.memory_space<vmem>>, %arg1: memref<8x128xf32, #tpu.memory_space<vmem>>):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 0 : index}> : () -> index
    %2 = "vector.load"(%arg0, %0, %1) : (memref<8x128xf32, #tpu.memory_space<vmem>>, index, index) -> vector<8x128xf32>
    %3 = "arith.constant"() <{value = dense<0.000000e+00> : vector<8xf32>}> : () -> vector<8xf32>
    %4 = "vector.multi_reduction"(%2, %3) <{kind = #vector.kind<add>, reduction_dims = array<i64: 1>}> : (vector<8x128xf32>, vector<8xf32>) -> vector<8xf32>
    %5 = "vector.shape_cast"(%4) : (vector<8xf32>) -> vector<8x1xf32>
    %6 = "arith.constant"() <{value = 0 : index}> : () -> index
    %7 = "arith.constant"() <{value = 0 : index}> : () -> index
    %8 = "vector.load"(%arg0, %6, %7) : (memref<8x128xf32, #tpu.memory_space<vmem>>, index, index) -> vector<8x128xf32>
    %9 = "arith.constant"() <{value = dense<0xFF800000> : vector<128xf32>}> : () -> vector<128xf32>
    %10 = "vector.multi_reduction"(%8, %9) <{kind = #vector.kind<maximumf>, reduction_dims = array<i64: 0>}> : (vector<8x128xf32>, vector<128xf32>) -> vector<128xf32>
    %11 = "vector.shape_cast"(%10) : (vector<128xf32>) -> vector<1x128xf32>
    %12 = "vector.broadcast"(%5) : (vector<8x1xf32>) -> vector<8x128xf32>
    %13 = "vector.broadcast"(%11) : (vector<1x128xf32>) -> vector<8x128xf32>
    %14 = "arith.addf"(%12, %13) <{fastmath = #arith.fastmath<none>}> : (vector<8x128xf32>, vector<8x128xf32>) -> vector<8x128xf32>
    %15 = "arith.constant"() <{value = 0 : index}> : () -> index
    %16 = "arith.constant"() <{value = 0 : index}> : () -> index
    %17 = "vector.load"(%arg1, %15, %16) : (memref<8x128xf32, #tpu.memory_space<vmem>>, index, index) -> vector<8x128xf32>
    "vector.store"(%14, %arg1, %15, %16) : (vector<8x128xf32>, memref<8x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    "func.return"() : () -> ()
  }) {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64} : () -> ()
}) {stable_mosaic.version = 2 : i64} : () -> ()

