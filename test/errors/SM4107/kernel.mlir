// The source is written before the copy is waited for.
func.func @kernel(%x: memref<8x128xf32, #tpu.memory_space<any>>,
                 %o: memref<8x128xf32, #tpu.memory_space<vmem>>,
                 %buffer: memref<8x128xf32, #tpu.memory_space<vmem>>,
                 %other: memref<8x128xf32, #tpu.memory_space<vmem>>,
                 %sem: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>)
      attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 3 : i64,
                  tpu.core_type = #tpu.core_type<tc>} {
    %c0 = arith.constant 0 : index
    %ones = arith.constant dense<1.0> : vector<8x128xf32>
    tpu.vector_store %buffer[%c0, %c0], %ones {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>,
    tpu.enqueue_dma source(%buffer : memref<8x128xf32, #tpu.memory_space<vmem>>) target(%other : memref<8x128xf32, #tpu.memory_space<vmem>>) target_semaphore(%sem : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>)
    tpu.vector_store %buffer[%c0, %c0], %ones {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>,
    tpu.wait_dma source(%buffer : memref<8x128xf32, #tpu.memory_space<vmem>>) target(%other : memref<8x128xf32, #tpu.memory_space<vmem>>) target_semaphore(%sem : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {wait_target = true}
    %v = vector.load %other[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    tpu.vector_store %o[%c0, %c0], %v {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>,
    return
}
