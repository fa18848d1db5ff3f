module {
  func.func @flash_attention_backward_keys(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32, %arg4: memref<1x1x64x128xbf16, #tpu.memory_space<vmem>>, %arg5: memref<1x1x128x128xbf16, #tpu.memory_space<vmem>>, %arg6: memref<1x1x128x128xbf16, #tpu.memory_space<vmem>>, %arg7: memref<1x1x64x128xbf16, #tpu.memory_space<vmem>>, %arg8: memref<1x1x1x64xf32, #tpu.memory_space<vmem>>, %arg9: memref<1x1x1x64xf32, #tpu.memory_space<vmem>>, %arg10: memref<1x1x128x128xbf16, #tpu.memory_space<vmem>>, %arg11: memref<1x1x128x128xbf16, #tpu.memory_space<vmem>>, %arg12: memref<128x128xf32, #tpu.memory_space<vmem>>, %arg13: memref<128x128xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 1, 2, 2, 4>, scalar_prefetch = 0 : i64, scratch_operands = 2 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{transform_indices = @transform_0, window_bounds = array<i64: 1, 1, 64, 128>}, {transform_indices = @transform_1, window_bounds = array<i64: 1, 1, 128, 128>}, {transform_indices = @transform_2, window_bounds = array<i64: 1, 1, 128, 128>}, {transform_indices = @transform_3, window_bounds = array<i64: 1, 1, 64, 128>}, {transform_indices = @transform_4, window_bounds = array<i64: 1, 1, 1, 64>}, {transform_indices = @transform_5, window_bounds = array<i64: 1, 1, 1, 64>}, {transform_indices = @transform_6, window_bounds = array<i64: 1, 1, 128, 128>}, {transform_indices = @transform_7, window_bounds = array<i64: 1, 1, 128, 128>}]} {
    %c0_i32 = arith.constant 0 : i32
    %0 = arith.cmpi eq, %arg3, %c0_i32 : i32
    scf.if %0 {
      %cst_37 = arith.constant 0.000000e+00 : f32
      %36 = vector.broadcast %cst_37 : f32 to vector<128x128xf32>
      %c0_38 = arith.constant 0 : index
      %c0_39 = arith.constant 0 : index
      tpu.vector_store %arg12[%c0_38, %c0_39], %36 {strides = array<i32>} : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32>, 
      %cst_40 = arith.constant 0.000000e+00 : f32
      %37 = vector.broadcast %cst_40 : f32 to vector<128x128xf32>
      %c0_41 = arith.constant 0 : index
      %c0_42 = arith.constant 0 : index
      tpu.vector_store %arg13[%c0_41, %c0_42], %37 {strides = array<i32>} : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32>, 
    } else {
    }
    %c0 = arith.constant 0 : index
    %c0_0 = arith.constant 0 : index
    %c0_1 = arith.constant 0 : index
    %c0_2 = arith.constant 0 : index
    %1 = vector.load %arg4[%c0, %c0_0, %c0_1, %c0_2] : memref<1x1x64x128xbf16, #tpu.memory_space<vmem>>, vector<1x1x64x128xbf16>
    %2 = vector.shape_cast %1 : vector<1x1x64x128xbf16> to vector<64x128xbf16>
    %c0_3 = arith.constant 0 : index
    %c0_4 = arith.constant 0 : index
    %c0_5 = arith.constant 0 : index
    %c0_6 = arith.constant 0 : index
    %3 = vector.load %arg7[%c0_3, %c0_4, %c0_5, %c0_6] : memref<1x1x64x128xbf16, #tpu.memory_space<vmem>>, vector<1x1x64x128xbf16>
    %4 = vector.shape_cast %3 : vector<1x1x64x128xbf16> to vector<64x128xbf16>
    %c0_7 = arith.constant 0 : index
    %c0_8 = arith.constant 0 : index
    %c0_9 = arith.constant 0 : index
    %c0_10 = arith.constant 0 : index
    %5 = vector.load %arg9[%c0_7, %c0_8, %c0_9, %c0_10] : memref<1x1x1x64xf32, #tpu.memory_space<vmem>>, vector<1x1x1x64xf32>
    %6 = vector.shape_cast %5 : vector<1x1x1x64xf32> to vector<1x64xf32>
    %c0_11 = arith.constant 0 : index
    %c0_12 = arith.constant 0 : index
    %c0_13 = arith.constant 0 : index
    %c0_14 = arith.constant 0 : index
    %7 = vector.load %arg8[%c0_11, %c0_12, %c0_13, %c0_14] : memref<1x1x1x64xf32, #tpu.memory_space<vmem>>, vector<1x1x1x64xf32>
    %8 = vector.shape_cast %7 : vector<1x1x1x64xf32> to vector<1x64xf32>
    %c0_15 = arith.constant 0 : index
    %c0_16 = arith.constant 0 : index
    %c0_17 = arith.constant 0 : index
    %c0_18 = arith.constant 0 : index
    %9 = vector.load %arg6[%c0_15, %c0_16, %c0_17, %c0_18] : memref<1x1x128x128xbf16, #tpu.memory_space<vmem>>, vector<1x1x128x128xbf16>
    %10 = vector.shape_cast %9 : vector<1x1x128x128xbf16> to vector<128x128xbf16>
    %c0_19 = arith.constant 0 : index
    %c0_20 = arith.constant 0 : index
    %c0_21 = arith.constant 0 : index
    %c0_22 = arith.constant 0 : index
    %11 = vector.load %arg5[%c0_19, %c0_20, %c0_21, %c0_22] : memref<1x1x128x128xbf16, #tpu.memory_space<vmem>>, vector<1x1x128x128xbf16>
    %12 = vector.shape_cast %11 : vector<1x1x128x128xbf16> to vector<128x128xbf16>
    %cst = arith.constant dense<0.000000e+00> : vector<128x64xf32>
    %13 = tpu.matmul %12, %2, %cst {dimension_numbers = #tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>, transpose_lhs_hint = false} : vector<128x128xbf16>, vector<64x128xbf16>, vector<128x64xf32> -> vector<128x64xf32>
    %cst_23 = arith.constant 0.127517432 : f32
    %14 = vector.broadcast %cst_23 : f32 to vector<128x64xf32>
    %15 = arith.mulf %13, %14 : vector<128x64xf32>
    %16 = vector.broadcast %8 : vector<1x64xf32> to vector<128x64xf32>
    %17 = arith.subf %15, %16 : vector<128x64xf32>
    %cst_24 = arith.constant -1.000000e+02 : f32
    %18 = vector.broadcast %cst_24 : f32 to vector<128x64xf32>
    %19 = arith.cmpf olt, %17, %18 : vector<128x64xf32>
    %cst_25 = arith.constant -1.000000e+02 : f32
    %20 = vector.broadcast %cst_25 : f32 to vector<128x64xf32>
    %21 = arith.select %19, %20, %17 : vector<128x64xi1>, vector<128x64xf32>
    %22 = math.exp2 %21 : vector<128x64xf32>
    %cst_26 = arith.constant dense<0.000000e+00> : vector<128x64xf32>
    %23 = tpu.matmul %10, %4, %cst_26 {dimension_numbers = #tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>, transpose_lhs_hint = false} : vector<128x128xbf16>, vector<64x128xbf16>, vector<128x64xf32> -> vector<128x64xf32>
    %24 = vector.broadcast %6 : vector<1x64xf32> to vector<128x64xf32>
    %25 = arith.subf %23, %24 : vector<128x64xf32>
    %26 = arith.mulf %22, %25 : vector<128x64xf32>
    %27 = arith.truncf %22 : vector<128x64xf32> to vector<128x64xbf16>
    %cst_27 = arith.constant dense<0.000000e+00> : vector<128x128xf32>
    %28 = tpu.matmul %27, %4, %cst_27 {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false} : vector<128x64xbf16>, vector<64x128xbf16>, vector<128x128xf32> -> vector<128x128xf32>
    %c0_28 = arith.constant 0 : index
    %c0_29 = arith.constant 0 : index
    %29 = vector.load %arg13[%c0_28, %c0_29] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32>
    %30 = arith.addf %29, %28 : vector<128x128xf32>
    %c0_30 = arith.constant 0 : index
    %c0_31 = arith.constant 0 : index
    tpu.vector_store %arg13[%c0_30, %c0_31], %30 {strides = array<i32>} : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32>, 
    %31 = arith.truncf %26 : vector<128x64xf32> to vector<128x64xbf16>
    %cst_32 = arith.constant dense<0.000000e+00> : vector<128x128xf32>
    %32 = tpu.matmul %31, %2, %cst_32 {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false} : vector<128x64xbf16>, vector<64x128xbf16>, vector<128x128xf32> -> vector<128x128xf32>
    %c0_33 = arith.constant 0 : index
    %c0_34 = arith.constant 0 : index
    %33 = vector.load %arg12[%c0_33, %c0_34] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32>
    %34 = arith.addf %33, %32 : vector<128x128xf32>
    %c0_35 = arith.constant 0 : index
    %c0_36 = arith.constant 0 : index
    tpu.vector_store %arg12[%c0_35, %c0_36], %34 {strides = array<i32>} : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32>, 
    %c3_i32 = arith.constant 3 : i32
    %35 = arith.cmpi eq, %arg3, %c3_i32 : i32
    scf.if %35 {
      %c0_37 = arith.constant 0 : index
      %c0_38 = arith.constant 0 : index
      %36 = vector.load %arg12[%c0_37, %c0_38] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32>
      %cst_39 = arith.constant 0.0883883461 : f32
      %37 = vector.broadcast %cst_39 : f32 to vector<128x128xf32>
      %38 = arith.mulf %36, %37 : vector<128x128xf32>
      %39 = arith.truncf %38 : vector<128x128xf32> to vector<128x128xbf16>
      %c0_40 = arith.constant 0 : index
      %c0_41 = arith.constant 0 : index
      %c0_42 = arith.constant 0 : index
      %c0_43 = arith.constant 0 : index
      %40 = vector.shape_cast %39 : vector<128x128xbf16> to vector<1x1x128x128xbf16>
      tpu.vector_store %arg10[%c0_40, %c0_41, %c0_42, %c0_43], %40 {strides = array<i32>} : memref<1x1x128x128xbf16, #tpu.memory_space<vmem>>, vector<1x1x128x128xbf16>, 
      %c0_44 = arith.constant 0 : index
      %c0_45 = arith.constant 0 : index
      %41 = vector.load %arg13[%c0_44, %c0_45] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32>
      %42 = arith.truncf %41 : vector<128x128xf32> to vector<128x128xbf16>
      %c0_46 = arith.constant 0 : index
      %c0_47 = arith.constant 0 : index
      %c0_48 = arith.constant 0 : index
      %c0_49 = arith.constant 0 : index
      %43 = vector.shape_cast %42 : vector<128x128xbf16> to vector<1x1x128x128xbf16>
      tpu.vector_store %arg11[%c0_46, %c0_47, %c0_48, %c0_49], %43 {strides = array<i32>} : memref<1x1x128x128xbf16, #tpu.memory_space<vmem>>, vector<1x1x128x128xbf16>, 
    } else {
    }
    return
  }
  func.func @transform_0(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32) -> (i32, i32, i32, i32) {
    %c4_i32 = arith.constant 4 : i32
    %0 = arith.divsi %arg3, %c4_i32 : i32
    %c1_i32 = arith.constant 1 : i32
    %1 = arith.muli %arg1, %c1_i32 : i32
    %2 = arith.addi %1, %0 : i32
    %c4_i32_0 = arith.constant 4 : i32
    %3 = arith.remsi %arg3, %c4_i32_0 : i32
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %2, %3, %c0_i32 : i32, i32, i32, i32
  }
  func.func @transform_1(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32) -> (i32, i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %arg1, %arg2, %c0_i32 : i32, i32, i32, i32
  }
  func.func @transform_2(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32) -> (i32, i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %arg1, %arg2, %c0_i32 : i32, i32, i32, i32
  }
  func.func @transform_3(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32) -> (i32, i32, i32, i32) {
    %c4_i32 = arith.constant 4 : i32
    %0 = arith.divsi %arg3, %c4_i32 : i32
    %c1_i32 = arith.constant 1 : i32
    %1 = arith.muli %arg1, %c1_i32 : i32
    %2 = arith.addi %1, %0 : i32
    %c4_i32_0 = arith.constant 4 : i32
    %3 = arith.remsi %arg3, %c4_i32_0 : i32
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %2, %3, %c0_i32 : i32, i32, i32, i32
  }
  func.func @transform_4(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32) -> (i32, i32, i32, i32) {
    %c4_i32 = arith.constant 4 : i32
    %0 = arith.divsi %arg3, %c4_i32 : i32
    %c1_i32 = arith.constant 1 : i32
    %1 = arith.muli %arg1, %c1_i32 : i32
    %2 = arith.addi %1, %0 : i32
    %c4_i32_0 = arith.constant 4 : i32
    %3 = arith.remsi %arg3, %c4_i32_0 : i32
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %2, %c0_i32, %3 : i32, i32, i32, i32
  }
  func.func @transform_5(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32) -> (i32, i32, i32, i32) {
    %c4_i32 = arith.constant 4 : i32
    %0 = arith.divsi %arg3, %c4_i32 : i32
    %c1_i32 = arith.constant 1 : i32
    %1 = arith.muli %arg1, %c1_i32 : i32
    %2 = arith.addi %1, %0 : i32
    %c4_i32_0 = arith.constant 4 : i32
    %3 = arith.remsi %arg3, %c4_i32_0 : i32
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %2, %c0_i32, %3 : i32, i32, i32, i32
  }
  func.func @transform_6(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32) -> (i32, i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %arg1, %arg2, %c0_i32 : i32, i32, i32, i32
  }
  func.func @transform_7(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32) -> (i32, i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %arg1, %arg2, %c0_i32 : i32, i32, i32, i32
  }
}
