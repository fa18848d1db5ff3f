// A number of 33 bits.
func.func @large(%x: memref<8x128xi32, #tpu.memory_space<vmem>>)
    attributes {iteration_bounds = array<i64>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64} {
  %0 = arith.constant 2147483648 : i32
  return
}
