module @waits {
  func.func @waits(%x: memref<8x128xf32, #tpu.memory_space<vmem>>, %h: memref<8x128xf32, #tpu.memory_space<any>>, %d: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %e: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 2 : i64, tpu.core_type = #tpu.core_type<tc>} {
    %c1 = arith.constant 1 : i32
    tpu.enqueue_dma source(%h : memref<8x128xf32, #tpu.memory_space<any>>) target(%x : memref<8x128xf32, #tpu.memory_space<vmem>>) target_semaphore(%d : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>)
    tpu.wait_dma2 semaphore(%d : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) src(%h : memref<8x128xf32, #tpu.memory_space<any>>) dst(%x : memref<8x128xf32, #tpu.memory_space<vmem>>)
    tpu.enqueue_dma source(%h : memref<8x128xf32, #tpu.memory_space<any>>) target(%x : memref<8x128xf32, #tpu.memory_space<vmem>>) source_semaphore(%e : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) target_semaphore(%d : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) device_id(%c1)
    tpu.wait_dma2 semaphore(%e : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) src(%x : memref<8x128xf32, #tpu.memory_space<vmem>>) dst(%h : memref<8x128xf32, #tpu.memory_space<any>>) 
    tpu.wait_dma2 semaphore(%d : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) src(%h : memref<8x128xf32, #tpu.memory_space<any>>) dst(%x : memref<8x128xf32, #tpu.memory_space<vmem>>) 
    return
  }
}
