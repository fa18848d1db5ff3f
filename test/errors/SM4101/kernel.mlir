// The branch looks at scratch that nobody has written.
func.func @kernel(%o: memref<8x128xf32, #tpu.memory_space<vmem>>,
                 %flag: memref<1xi32, #tpu.memory_space<smem>>)
      attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 1 : i64,
                  tpu.core_type = #tpu.core_type<tc>} {
    %c0 = arith.constant 0 : index
    %ones = arith.constant dense<1.0> : vector<8x128xf32>
    tpu.vector_store %o[%c0, %c0], %ones {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>,
    %f = memref.load %flag[%c0] : memref<1xi32, #tpu.memory_space<smem>>
    %zero = arith.constant 0 : i32
    %set = arith.cmpi ne, %f, %zero : i32
    scf.if %set {
      tpu.vector_store %o[%c0, %c0], %ones {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>,
    }
    return
}
