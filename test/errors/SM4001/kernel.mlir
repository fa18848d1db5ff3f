// A sum with its carry: Pallas does not emit it, and the machine does not know it.
func.func @kernel(%o: memref<8x128xf32, #tpu.memory_space<vmem>>)
    attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64,
                tpu.core_type = #tpu.core_type<tc>} {
  %c0 = arith.constant 0 : index
  %c = arith.constant dense<7> : vector<8x128xi32>
  %sum, %carry = arith.addui_extended %c, %c : vector<8x128xi32>, vector<8x128xi1>
  %f = arith.sitofp %sum : vector<8x128xi32> to vector<8x128xf32>
  vector.store %f, %o[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
  return
}
