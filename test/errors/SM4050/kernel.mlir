// The index map of the output never ends.
func.func @kernel(%i: i32, %o: memref<8x128xf32, #tpu.memory_space<vmem>>)
    attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>,
                window_params = [{transform_indices = @block, window_bounds = array<i64: 8, 128>}]} {
  return
}
func.func @block(%i: i32) -> (i32, i32) {
  %true = arith.constant true
  %r = scf.while (%a = %i) : (i32) -> i32 {
    scf.condition(%true) %a : i32
  } do {
  ^bb0(%a: i32):
    scf.yield %a : i32
  }
  return %r, %i : i32, i32
}
