// NAME: z = 2 x + y, in blocks of 64 rows. The grid has 4 steps; at step i each window holds block (i, 0).
module @NAME {
  func.func @NAME(%i: i32,
                  %x: memref<64x128xf32, #tpu.memory_space<vmem>>,
                  %y: memref<64x128xf32, #tpu.memory_space<vmem>>,
                  %z: memref<64x128xf32, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>],
                  iteration_bounds = array<i64: 4>,
                  scalar_prefetch = 0 : i64,
                  scratch_operands = 0 : i64,
                  tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @block, window_bounds = array<i64: 64, 128>},
                                   {transform_indices = @block, window_bounds = array<i64: 64, 128>},
                                   {transform_indices = @block, window_bounds = array<i64: 64, 128>}]} {
    %c0 = arith.constant 0 : index
    %two = arith.constant dense<2.0> : vector<64x128xf32>
    %xv = vector.load %x[%c0, %c0] : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<64x128xf32>
    %yv = vector.load %y[%c0, %c0] : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<64x128xf32>
    %xx = arith.mulf %xv, %two : vector<64x128xf32>
    %zv = arith.addf %xx, %yv : vector<64x128xf32>
    tpu.vector_store %z[%c0, %c0], %zv {strides = array<i32>} : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<64x128xf32>,
    return
  }
  // The index map: which block a window holds at step i.
  func.func @block(%i: i32) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
