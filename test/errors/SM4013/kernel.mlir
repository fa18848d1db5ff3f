// Pops a product that nothing was fed for.
func.func @kernel(%o: memref<8x128xf32, #tpu.memory_space<vmem>>)
    attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64,
                tpu.core_type = #tpu.core_type<tc>} {
  %0 = "tpu.matmul_pop_fifo"() <{mxu_index = 0 : i32}> : () -> vector<8x128xf32>
  return
}
