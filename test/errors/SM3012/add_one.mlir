// The bound of the grid is dynamic: it is an operand before all others.
func.func @add_one(%i: i32,
                   %n: memref<4xi32, #tpu.memory_space<smem>>,
                   %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                   %o: memref<8x128xf32, #tpu.memory_space<vmem>>)
    attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: -9223372036854775808>,
                scalar_prefetch = 1 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>,
                window_params = [{transform_indices = @block, window_bounds = array<i64: 8, 128>},
                                 {transform_indices = @block, window_bounds = array<i64: 8, 128>}]} {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : vector<8x128xf32>
  %v = vector.load %x[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
  %sum = arith.addf %v, %one : vector<8x128xf32>
  vector.store %sum, %o[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
  return
}
func.func @block(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
  %c0 = arith.constant 0 : i32
  return %i, %c0 : i32, i32
}
