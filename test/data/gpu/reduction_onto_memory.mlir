// A reduction in two passes adds to what it reads from memory that is stored to next.
module @redk {
  func.func @redk(%i: i32,
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
    %xv = vector.load %x[%c0, %c0] : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<64x128xf32>
    %f = arith.constant 0.0 : f32
    %one = arith.constant dense<1.0> : vector<128xf32>
    %yv = vector.load %y[%c0, %c0] : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<64x128xf32>
    tpu.vector_store %z[%c0, %c0], %yv {strides = array<i32>} : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<64x128xf32>,
    %row = vector.load %z[%c0, %c0] : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<1x128xf32>
    %acc = vector.shape_cast %row : vector<1x128xf32> to vector<128xf32>
    %r = vector.multi_reduction <add>, %xv, %acc [0] : vector<64x128xf32> to vector<128xf32>
    %zero = arith.constant dense<0.0> : vector<64x128xf32>
    tpu.vector_store %z[%c0, %c0], %zero {strides = array<i32>} : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<64x128xf32>,
    %c8 = arith.constant 8 : index
    %rr = vector.shape_cast %r : vector<128xf32> to vector<1x128xf32>
    tpu.vector_store %z[%c8, %c0], %rr {strides = array<i32>} : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<1x128xf32>,
    return
  }
  // The index map: which block a window holds at step i.
  func.func @block(%i: i32) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
