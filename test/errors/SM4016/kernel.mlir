module {
  func.func @views(%x: memref<12x128xf32, #tpu.memory_space<hbm>>, %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %sem: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) attributes {scalar_prefetch = 0 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>, dimension_semantics = []} {
    %c0 = arith.constant 0 : i32
    %c8 = arith.constant 8 : i32
    %end = tpu.memref_slice %x[%c8, %c0] : memref<12x128xf32, #tpu.memory_space<hbm>> -> memref<8x128xf32, #tpu.memory_space<hbm>>
    %flat = tpu.memref_reshape %end : memref<8x128xf32, #tpu.memory_space<hbm>> -> memref<1x1024xf32, #tpu.memory_space<hbm>>
    %back = tpu.memref_reshape %flat : memref<1x1024xf32, #tpu.memory_space<hbm>> -> memref<8x128xf32, #tpu.memory_space<hbm>>
    tpu.enqueue_dma source(%back : memref<8x128xf32, #tpu.memory_space<hbm>>) target(%o : memref<8x128xf32, #tpu.memory_space<vmem>>) target_semaphore(%sem : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>)
    tpu.wait_dma2 semaphore(%sem : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) src(%back : memref<8x128xf32, #tpu.memory_space<hbm>>) dst(%o : memref<8x128xf32, #tpu.memory_space<vmem>>)
    return
  }
}
