// Polls a semaphore that nobody signals.
func.func @kernel(%o: memref<8x128xf32, #tpu.memory_space<any>>,
                 %sem: memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>)
      attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 1 : i64,
                  tpu.core_type = #tpu.core_type<tc>} {
    %one = arith.constant 1 : i32
    scf.while : () -> () {
      %count = tpu.sem_read %sem : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>> -> i32
      %again = arith.cmpi slt, %count, %one : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
    return
}
