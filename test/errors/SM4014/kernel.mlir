// Extracts the element that the array says: 8 of 8.
func.func @kernel(%x: memref<1xi32, #tpu.memory_space<smem>>,
                  %o: memref<8x128xf32, #tpu.memory_space<vmem>>)
    attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64,
                tpu.core_type = #tpu.core_type<tc>} {
  %c0 = arith.constant 0 : index
  %eight = arith.constant 8 : i32
  %one = memref.load %x[%c0] : memref<1xi32, #tpu.memory_space<smem>>
  %position = arith.muli %one, %eight : i32
  %at = arith.index_cast %position : i32 to index
  %v = arith.constant dense<1.0> : vector<8xf32>
  %e = vector.extract %v[%at] : f32 from vector<8xf32>
  %all = vector.broadcast %e : f32 to vector<8x128xf32>
  vector.store %all, %o[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
  return
}
