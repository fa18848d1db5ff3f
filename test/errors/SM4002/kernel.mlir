// Loads from a ref that was left in HBM.
func.func @kernel(%x: memref<8x128xf32, #tpu.memory_space<any>>,
                  %o: memref<8x128xf32, #tpu.memory_space<vmem>>)
    attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64,
                tpu.core_type = #tpu.core_type<tc>} {
  %c0 = arith.constant 0 : index
  %v = vector.load %x[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<any>>, vector<8x128xf32>
  return
}
