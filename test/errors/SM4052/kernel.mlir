// Signals device 2 of one.
func.func @kernel(%o: memref<8x128xf32, #tpu.memory_space<any>>,
                 %sem: memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>)
      attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 1 : i64,
                  tpu.core_type = #tpu.core_type<tc>} {
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    tpu.sem_signal %sem, %one device_id %two : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    return
}
