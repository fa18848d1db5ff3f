// A value of a branch leaves its place in shared memory to one after the branch.
module @ifk {
  func.func @ifk(%i: i32,
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
    %k = arith.constant 0 : i32
    %cond = arith.cmpi sge, %i, %k : i32
    scf.if %cond {
      %xv = vector.load %x[%c0, %c0] : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<64x128xf32>
      %ex = math.exp %xv : vector<64x128xf32>
      %sh = arith.constant 1 : i32
      %rx = tpu.dynamic_rotate %ex by %sh dim 1 : vector<64x128xf32>, i32 -> vector<64x128xf32>
      tpu.vector_store %z[%c0, %c0], %rx {strides = array<i32>} : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<64x128xf32>,
    }
    %yv = vector.load %y[%c0, %c0] : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<64x128xf32>
    %ey = math.exp %yv : vector<64x128xf32>
    %sh2 = arith.constant 1 : i32
    %ry = tpu.dynamic_rotate %ey by %sh2 dim 1 : vector<64x128xf32>, i32 -> vector<64x128xf32>
    %zl = vector.load %z[%c0, %c0] : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<64x128xf32>
    %zv = arith.addf %zl, %ry : vector<64x128xf32>
    tpu.vector_store %z[%c0, %c0], %zv {strides = array<i32>} : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<64x128xf32>,
    return
  }
  // The index map: which block a window holds at step i.
  func.func @block(%i: i32) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
