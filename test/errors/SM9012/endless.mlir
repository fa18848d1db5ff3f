// Waits for ever.
module @endless {
  func.func @endless(%z: memref<1xi32, #tpu.memory_space<smem>>)
      attributes {iteration_bounds = array<i64>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64,
                  tpu.core_type = #tpu.core_type<tc>, dimension_semantics = []} {
    %true = arith.constant true
    scf.while : () -> () {
      scf.condition(%true)
    } do {
      scf.yield
    }
    return
  }
}
