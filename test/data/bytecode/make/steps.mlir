module @steps {
  func.func @steps(%x: memref<8x128xf32, #tpu.memory_space<vmem>>, %h: memref<8x128xf32, #tpu.memory_space<any>>, %i: memref<8x128xi32, #tpu.memory_space<vmem>>, %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %d: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %s: memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>) attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 2 : i64, tpu.core_type = #tpu.core_type<tc>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : i32
    %v = vector.load %x[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    %ix = vector.load %i[%c0, %c0] : memref<8x128xi32, #tpu.memory_space<vmem>>, vector<8x128xi32>
    %g = tpu.dynamic_gather %v[%ix] in [1] : vector<8x128xf32>, vector<8x128xi32> -> vector<8x128xf32>
    %n = tpu.iota {dimensions = array<i32: 1>} : vector<8x128xi32>
    %nf = arith.sitofp %n : vector<8x128xi32> to vector<8x128xf32>
    %z = arith.constant dense<0.0> : vector<8xf32>
    %r = vector.multi_reduction <add>, %g, %z [1] : vector<8x128xf32> to vector<8xf32>
    %rc = vector.shape_cast %r : vector<8xf32> to vector<8x1xf32>
    %rb = vector.broadcast %rc : vector<8x1xf32> to vector<8x128xf32>
    %t = arith.constant dense<true> : vector<8x128xi1>
    %w = arith.select %t, %rb, %nf : vector<8x128xi1>, vector<8x128xf32>
    tpu.vector_store %o[%c0, %c0], %w {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>,
    tpu.sem_signal %s, %c1 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    tpu.sem_wait %s, %c1 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    return
  }
}
