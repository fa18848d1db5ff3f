// Doubles 4096 rows, 8 at a time.
func.func @kernel(%i: i32,
                 %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                 %o: memref<8x128xf32, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>],
                  iteration_bounds = array<i64: 512>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64,
                  tpu.core_type = #tpu.core_type<tc>, window_params = [{transform_indices = @rows, window_bounds = array<i64: 8, 128>}, {transform_indices = @rows, window_bounds = array<i64: 8, 128>}]} {
    %c0 = arith.constant 0 : index
    %v = vector.load %x[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    %d = arith.addf %v, %v : vector<8x128xf32>
    tpu.vector_store %o[%c0, %c0], %d {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>,
    return
}
func.func @rows(%i: i32) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
}
