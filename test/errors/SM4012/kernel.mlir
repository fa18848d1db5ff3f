// Counts in steps of the first element, which is 0.
func.func @kernel(%x: memref<1xi32, #tpu.memory_space<smem>>,
                  %o: memref<8x128xf32, #tpu.memory_space<vmem>>)
    attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64,
                tpu.core_type = #tpu.core_type<tc>} {
  %c0 = arith.constant 0 : index
  %from = arith.constant 0 : i32
  %to = arith.constant 8 : i32
  %step = memref.load %x[%c0] : memref<1xi32, #tpu.memory_space<smem>>
  scf.for %i = %from to %to step %step : i32 {
  }
  return
}
