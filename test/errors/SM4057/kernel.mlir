// A thousand points of a grid axis, all at the same time.
func.func @kernel(%i: i32,
                 %o: memref<8x128xf32, #tpu.memory_space<any>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<core_parallel>],
                  iteration_bounds = array<i64: 1000>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64,
                  tpu.core_type = #tpu.core_type<tc>, window_params = [{}]} {
    return
}
