module {
  func.func @paged_attention(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: memref<2xi32, #tpu.memory_space<smem>>, %arg4: memref<6xi32, #tpu.memory_space<smem>>, %arg5: memref<1x1x4x128xbf16, #tpu.memory_space<vmem>>, %arg6: memref<1x1x128x128xbf16, #tpu.memory_space<vmem>>, %arg7: memref<1x1x128x128xbf16, #tpu.memory_space<vmem>>, %arg8: memref<1x1x4x128xbf16, #tpu.memory_space<vmem>>, %arg9: memref<4x1xf32, #tpu.memory_space<vmem>>, %arg10: memref<4x1xf32, #tpu.memory_space<vmem>>, %arg11: memref<4x128xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2, 2, 3>, scalar_prefetch = 2 : i64, scratch_operands = 3 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{transform_indices = @transform_0, window_bounds = array<i64: 1, 1, 4, 128>}, {transform_indices = @transform_1, window_bounds = array<i64: 1, 1, 128, 128>}, {transform_indices = @transform_2, window_bounds = array<i64: 1, 1, 128, 128>}, {transform_indices = @transform_3, window_bounds = array<i64: 1, 1, 4, 128>}]} {
    %c0_i32 = arith.constant 0 : i32
    %0 = arith.cmpi eq, %arg2, %c0_i32 : i32
    scf.if %0 {
      %cst = arith.constant -3.40282347E+38 : f32
      %6 = vector.broadcast %cst : f32 to vector<4x1xf32>
      %c0 = arith.constant 0 : index
      %c0_0 = arith.constant 0 : index
      tpu.vector_store %arg9[%c0, %c0_0], %6 {strides = array<i32>} : memref<4x1xf32, #tpu.memory_space<vmem>>, vector<4x1xf32>, 
      %cst_1 = arith.constant 0.000000e+00 : f32
      %7 = vector.broadcast %cst_1 : f32 to vector<4x1xf32>
      %c0_2 = arith.constant 0 : index
      %c0_3 = arith.constant 0 : index
      tpu.vector_store %arg10[%c0_2, %c0_3], %7 {strides = array<i32>} : memref<4x1xf32, #tpu.memory_space<vmem>>, vector<4x1xf32>, 
      %cst_4 = arith.constant 0.000000e+00 : f32
      %8 = vector.broadcast %cst_4 : f32 to vector<4x128xf32>
      %c0_5 = arith.constant 0 : index
      %c0_6 = arith.constant 0 : index
      tpu.vector_store %arg11[%c0_5, %c0_6], %8 {strides = array<i32>} : memref<4x128xf32, #tpu.memory_space<vmem>>, vector<4x128xf32>, 
    } else {
    }
    %1 = arith.index_cast %arg0 : i32 to index
    %2 = memref.load %arg3[%1] : memref<2xi32, #tpu.memory_space<smem>>
    %c128_i32 = arith.constant 128 : i32
    %3 = arith.muli %arg2, %c128_i32 : i32
    %4 = arith.cmpi slt, %3, %2 : i32
    scf.if %4 {
      %c0 = arith.constant 0 : index
      %c0_0 = arith.constant 0 : index
      %c0_1 = arith.constant 0 : index
      %c0_2 = arith.constant 0 : index
      %6 = vector.load %arg6[%c0, %c0_0, %c0_1, %c0_2] : memref<1x1x128x128xbf16, #tpu.memory_space<vmem>>, vector<1x1x128x128xbf16>
      %7 = vector.shape_cast %6 : vector<1x1x128x128xbf16> to vector<128x128xbf16>
      %c0_3 = arith.constant 0 : index
      %c0_4 = arith.constant 0 : index
      %c0_5 = arith.constant 0 : index
      %c0_6 = arith.constant 0 : index
      %8 = vector.load %arg5[%c0_3, %c0_4, %c0_5, %c0_6] : memref<1x1x4x128xbf16, #tpu.memory_space<vmem>>, vector<1x1x4x128xbf16>
      %9 = vector.shape_cast %8 : vector<1x1x4x128xbf16> to vector<4x128xbf16>
      %cst = arith.constant dense<0.000000e+00> : vector<4x128xf32>
      %10 = tpu.matmul %9, %7, %cst {dimension_numbers = #tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>, transpose_lhs_hint = false} : vector<4x128xbf16>, vector<128x128xbf16>, vector<4x128xf32> -> vector<4x128xf32>
      %cst_7 = arith.constant 0.0883883461 : f32
      %11 = vector.broadcast %cst_7 : f32 to vector<4x128xf32>
      %12 = arith.mulf %10, %11 : vector<4x128xf32>
      %13 = tpu.iota {dimensions = array<i32: 1>} : vector<4x128xi32>
      %c128_i32_8 = arith.constant 128 : i32
      %14 = arith.muli %arg2, %c128_i32_8 : i32
      %15 = vector.broadcast %14 : i32 to vector<4x128xi32>
      %16 = arith.addi %15, %13 : vector<4x128xi32>
      %17 = arith.index_cast %arg0 : i32 to index
      %18 = memref.load %arg3[%17] : memref<2xi32, #tpu.memory_space<smem>>
      %19 = vector.broadcast %18 : i32 to vector<4x128xi32>
      %20 = arith.cmpi slt, %16, %19 : vector<4x128xi32>
      %cst_9 = arith.constant 0xFF800000 : f32
      %21 = vector.broadcast %cst_9 : f32 to vector<4x128xf32>
      %22 = arith.select %20, %12, %21 : vector<4x128xi1>, vector<4x128xf32>
      %c0_10 = arith.constant 0 : index
      %c0_11 = arith.constant 0 : index
      %23 = vector.load %arg9[%c0_10, %c0_11] : memref<4x1xf32, #tpu.memory_space<vmem>>, vector<4x1xf32>
      %cst_12 = arith.constant dense<0xFF800000> : vector<4xf32>
      %24 = vector.multi_reduction <maximumf>, %22, %cst_12 [1] : vector<4x128xf32> to vector<4xf32>
      %25 = vector.shape_cast %24 : vector<4xf32> to vector<4x1xf32>
      %26 = arith.maximumf %23, %25 : vector<4x1xf32>
      %27 = vector.broadcast %26 : vector<4x1xf32> to vector<4x128xf32>
      %28 = arith.subf %22, %27 : vector<4x128xf32>
      %29 = math.exp %28 : vector<4x128xf32>
      %30 = arith.subf %23, %26 : vector<4x1xf32>
      %31 = math.exp %30 : vector<4x1xf32>
      %c0_13 = arith.constant 0 : index
      %c0_14 = arith.constant 0 : index
      tpu.vector_store %arg9[%c0_13, %c0_14], %26 {strides = array<i32>} : memref<4x1xf32, #tpu.memory_space<vmem>>, vector<4x1xf32>, 
      %cst_15 = arith.constant dense<0.000000e+00> : vector<4xf32>
      %32 = vector.multi_reduction <add>, %29, %cst_15 [1] : vector<4x128xf32> to vector<4xf32>
      %33 = vector.shape_cast %32 : vector<4xf32> to vector<4x1xf32>
      %c0_16 = arith.constant 0 : index
      %c0_17 = arith.constant 0 : index
      %34 = vector.load %arg10[%c0_16, %c0_17] : memref<4x1xf32, #tpu.memory_space<vmem>>, vector<4x1xf32>
      %35 = arith.mulf %34, %31 : vector<4x1xf32>
      %36 = arith.addf %35, %33 : vector<4x1xf32>
      %c0_18 = arith.constant 0 : index
      %c0_19 = arith.constant 0 : index
      tpu.vector_store %arg10[%c0_18, %c0_19], %36 {strides = array<i32>} : memref<4x1xf32, #tpu.memory_space<vmem>>, vector<4x1xf32>, 
      %c0_20 = arith.constant 0 : index
      %c0_21 = arith.constant 0 : index
      %c0_22 = arith.constant 0 : index
      %c0_23 = arith.constant 0 : index
      %37 = vector.load %arg7[%c0_20, %c0_21, %c0_22, %c0_23] : memref<1x1x128x128xbf16, #tpu.memory_space<vmem>>, vector<1x1x128x128xbf16>
      %38 = vector.shape_cast %37 : vector<1x1x128x128xbf16> to vector<128x128xbf16>
      %39 = arith.truncf %29 : vector<4x128xf32> to vector<4x128xbf16>
      %cst_24 = arith.constant dense<0.000000e+00> : vector<4x128xf32>
      %40 = tpu.matmul %39, %38, %cst_24 {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false} : vector<4x128xbf16>, vector<128x128xbf16>, vector<4x128xf32> -> vector<4x128xf32>
      %c0_25 = arith.constant 0 : index
      %c0_26 = arith.constant 0 : index
      %41 = vector.load %arg11[%c0_25, %c0_26] : memref<4x128xf32, #tpu.memory_space<vmem>>, vector<4x128xf32>
      %42 = vector.broadcast %31 : vector<4x1xf32> to vector<4x128xf32>
      %43 = arith.mulf %41, %42 : vector<4x128xf32>
      %44 = arith.addf %43, %40 : vector<4x128xf32>
      %c0_27 = arith.constant 0 : index
      %c0_28 = arith.constant 0 : index
      tpu.vector_store %arg11[%c0_27, %c0_28], %44 {strides = array<i32>} : memref<4x128xf32, #tpu.memory_space<vmem>>, vector<4x128xf32>, 
    } else {
    }
    %last = arith.constant 2 : i32
    %5 = arith.cmpi eq, %arg2, %last : i32
    scf.if %5 {
      %c0 = arith.constant 0 : index
      %c0_0 = arith.constant 0 : index
      %6 = vector.load %arg10[%c0, %c0_0] : memref<4x1xf32, #tpu.memory_space<vmem>>, vector<4x1xf32>
      %c0_1 = arith.constant 0 : index
      %c0_2 = arith.constant 0 : index
      %7 = vector.load %arg10[%c0_1, %c0_2] : memref<4x1xf32, #tpu.memory_space<vmem>>, vector<4x1xf32>
      %cst = arith.constant 0.000000e+00 : f32
      %8 = vector.broadcast %cst : f32 to vector<4x1xf32>
      %9 = arith.cmpf oeq, %7, %8 : vector<4x1xf32>
      %cst_3 = arith.constant 1.000000e+00 : f32
      %10 = vector.broadcast %cst_3 : f32 to vector<4x1xf32>
      %11 = arith.select %9, %10, %6 : vector<4x1xi1>, vector<4x1xf32>
      %c0_4 = arith.constant 0 : index
      %c0_5 = arith.constant 0 : index
      %12 = vector.load %arg11[%c0_4, %c0_5] : memref<4x128xf32, #tpu.memory_space<vmem>>, vector<4x128xf32>
      %13 = vector.broadcast %11 : vector<4x1xf32> to vector<4x128xf32>
      %14 = arith.divf %12, %13 : vector<4x128xf32>
      %15 = arith.truncf %14 : vector<4x128xf32> to vector<4x128xbf16>
      %c0_6 = arith.constant 0 : index
      %c0_7 = arith.constant 0 : index
      %c0_8 = arith.constant 0 : index
      %c0_9 = arith.constant 0 : index
      %16 = vector.shape_cast %15 : vector<4x128xbf16> to vector<1x1x4x128xbf16>
      tpu.vector_store %arg8[%c0_6, %c0_7, %c0_8, %c0_9], %16 {strides = array<i32>} : memref<1x1x4x128xbf16, #tpu.memory_space<vmem>>, vector<1x1x4x128xbf16>, 
    } else {
    }
    return
  }
  func.func @transform_0(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: memref<2xi32, #tpu.memory_space<smem>>, %arg4: memref<6xi32, #tpu.memory_space<smem>>) -> (i32, i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    %c0_i32_0 = arith.constant 0 : i32
    return %arg0, %arg1, %c0_i32, %c0_i32_0 : i32, i32, i32, i32
  }
  func.func @transform_1(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: memref<2xi32, #tpu.memory_space<smem>>, %arg4: memref<6xi32, #tpu.memory_space<smem>>) -> (i32, i32, i32, i32) {
    %0 = arith.index_cast %arg0 : i32 to index
    %1 = memref.load %arg3[%0] : memref<2xi32, #tpu.memory_space<smem>>
    %c127_i32 = arith.constant 127 : i32
    %2 = arith.addi %1, %c127_i32 : i32
    %c128_i32 = arith.constant 128 : i32
    %3 = arith.divsi %2, %c128_i32 : i32
    %c1_i32 = arith.constant 1 : i32
    %4 = arith.subi %3, %c1_i32 : i32
    %c0_i32 = arith.constant 0 : i32
    %5 = arith.maxsi %4, %c0_i32 : i32
    %c1_i32_0 = arith.constant 1 : i32
    %6 = arith.muli %arg2, %c1_i32_0 : i32
    %c0_i32_1 = arith.constant 0 : i32
    %7 = arith.addi %6, %c0_i32_1 : i32
    %8 = arith.minsi %7, %5 : i32
    %pages = arith.constant 3 : i32
    %9 = arith.muli %arg0, %pages : i32
    %10 = arith.addi %9, %8 : i32
    %11 = arith.index_cast %10 : i32 to index
    %12 = memref.load %arg4[%11] : memref<6xi32, #tpu.memory_space<smem>>
    %c0_i32_2 = arith.constant 0 : i32
    %c0_i32_3 = arith.constant 0 : i32
    return %arg1, %12, %c0_i32_2, %c0_i32_3 : i32, i32, i32, i32
  }
  func.func @transform_2(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: memref<2xi32, #tpu.memory_space<smem>>, %arg4: memref<6xi32, #tpu.memory_space<smem>>) -> (i32, i32, i32, i32) {
    %0 = arith.index_cast %arg0 : i32 to index
    %1 = memref.load %arg3[%0] : memref<2xi32, #tpu.memory_space<smem>>
    %c127_i32 = arith.constant 127 : i32
    %2 = arith.addi %1, %c127_i32 : i32
    %c128_i32 = arith.constant 128 : i32
    %3 = arith.divsi %2, %c128_i32 : i32
    %c1_i32 = arith.constant 1 : i32
    %4 = arith.subi %3, %c1_i32 : i32
    %c0_i32 = arith.constant 0 : i32
    %5 = arith.maxsi %4, %c0_i32 : i32
    %c1_i32_0 = arith.constant 1 : i32
    %6 = arith.muli %arg2, %c1_i32_0 : i32
    %c0_i32_1 = arith.constant 0 : i32
    %7 = arith.addi %6, %c0_i32_1 : i32
    %8 = arith.minsi %7, %5 : i32
    %pages = arith.constant 3 : i32
    %9 = arith.muli %arg0, %pages : i32
    %10 = arith.addi %9, %8 : i32
    %11 = arith.index_cast %10 : i32 to index
    %12 = memref.load %arg4[%11] : memref<6xi32, #tpu.memory_space<smem>>
    %c0_i32_2 = arith.constant 0 : i32
    %c0_i32_3 = arith.constant 0 : i32
    return %arg1, %12, %c0_i32_2, %c0_i32_3 : i32, i32, i32, i32
  }
  func.func @transform_3(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: memref<2xi32, #tpu.memory_space<smem>>, %arg4: memref<6xi32, #tpu.memory_space<smem>>) -> (i32, i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    %c0_i32_0 = arith.constant 0 : i32
    return %arg0, %arg1, %c0_i32, %c0_i32_0 : i32, i32, i32, i32
  }
}
