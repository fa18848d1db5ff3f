module {
  func.func @flash_attention(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32, %arg4: memref<1x1x128x64xbf16, #tpu.memory_space<vmem>>, %arg5: memref<1x1x128x64xbf16, #tpu.memory_space<vmem>>, %arg6: memref<1x1x128x64xbf16, #tpu.memory_space<vmem>>, %arg7: memref<1x1x128x64xbf16, #tpu.memory_space<vmem>>, %arg8: memref<128x1xf32, #tpu.memory_space<vmem>>, %arg9: memref<128x1xf32, #tpu.memory_space<vmem>>, %arg10: memref<128x64xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 1, 2, 2, 2>, scalar_prefetch = 0 : i64, scratch_operands = 3 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{transform_indices = @transform_0, window_bounds = array<i64: 1, 1, 128, 64>}, {transform_indices = @transform_1, window_bounds = array<i64: 1, 1, 128, 64>}, {transform_indices = @transform_2, window_bounds = array<i64: 1, 1, 128, 64>}, {transform_indices = @transform_3, window_bounds = array<i64: 1, 1, 128, 64>}]} {
    %c0_i32 = arith.constant 0 : i32
    %0 = arith.cmpi eq, %arg3, %c0_i32 : i32
    scf.if %0 {
      %cst_33 = arith.constant -3.40282347E+38 : f32
      %43 = vector.broadcast %cst_33 : f32 to vector<128x1xf32>
      %c0_34 = arith.constant 0 : index
      %c0_35 = arith.constant 0 : index
      tpu.vector_store %arg8[%c0_34, %c0_35], %43 {strides = array<i32>} : memref<128x1xf32, #tpu.memory_space<vmem>>, vector<128x1xf32>, 
      %cst_36 = arith.constant 0.000000e+00 : f32
      %44 = vector.broadcast %cst_36 : f32 to vector<128x1xf32>
      %c0_37 = arith.constant 0 : index
      %c0_38 = arith.constant 0 : index
      tpu.vector_store %arg9[%c0_37, %c0_38], %44 {strides = array<i32>} : memref<128x1xf32, #tpu.memory_space<vmem>>, vector<128x1xf32>, 
      %cst_39 = arith.constant 0.000000e+00 : f32
      %45 = vector.broadcast %cst_39 : f32 to vector<128x64xf32>
      %c0_40 = arith.constant 0 : index
      %c0_41 = arith.constant 0 : index
      tpu.vector_store %arg10[%c0_40, %c0_41], %45 {strides = array<i32>} : memref<128x64xf32, #tpu.memory_space<vmem>>, vector<128x64xf32>, 
    } else {
    }
    %c0 = arith.constant 0 : index
    %c0_0 = arith.constant 0 : index
    %c0_1 = arith.constant 0 : index
    %c0_2 = arith.constant 0 : index
    %1 = vector.load %arg4[%c0, %c0_0, %c0_1, %c0_2] : memref<1x1x128x64xbf16, #tpu.memory_space<vmem>>, vector<1x1x128x64xbf16>
    %2 = vector.shape_cast %1 : vector<1x1x128x64xbf16> to vector<128x64xbf16>
    %c0_3 = arith.constant 0 : index
    %c0_4 = arith.constant 0 : index
    %c0_5 = arith.constant 0 : index
    %c0_6 = arith.constant 0 : index
    %3 = vector.load %arg5[%c0_3, %c0_4, %c0_5, %c0_6] : memref<1x1x128x64xbf16, #tpu.memory_space<vmem>>, vector<1x1x128x64xbf16>
    %4 = vector.shape_cast %3 : vector<1x1x128x64xbf16> to vector<128x64xbf16>
    %cst = arith.constant dense<0.000000e+00> : vector<128x128xf32>
    %5 = tpu.matmul %2, %4, %cst {dimension_numbers = #tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>, transpose_lhs_hint = false} : vector<128x64xbf16>, vector<128x64xbf16>, vector<128x128xf32> -> vector<128x128xf32>
    %cst_7 = arith.constant 0.180336878 : f32
    %6 = vector.broadcast %cst_7 : f32 to vector<128x128xf32>
    %7 = arith.mulf %5, %6 : vector<128x128xf32>
    %c0_8 = arith.constant 0 : index
    %c0_9 = arith.constant 0 : index
    %c0_10 = arith.constant 0 : index
    %c0_11 = arith.constant 0 : index
    %8 = vector.load %arg6[%c0_8, %c0_9, %c0_10, %c0_11] : memref<1x1x128x64xbf16, #tpu.memory_space<vmem>>, vector<1x1x128x64xbf16>
    %9 = vector.shape_cast %8 : vector<1x1x128x64xbf16> to vector<128x64xbf16>
    %c0_12 = arith.constant 0 : index
    %c0_13 = arith.constant 0 : index
    %10 = vector.load %arg8[%c0_12, %c0_13] : memref<128x1xf32, #tpu.memory_space<vmem>>, vector<128x1xf32>
    %cst_14 = arith.constant dense<0xFF800000> : vector<128xf32>
    %11 = vector.multi_reduction <maximumf>, %7, %cst_14 [1] : vector<128x128xf32> to vector<128xf32>
    %12 = vector.shape_cast %11 : vector<128xf32> to vector<128x1xf32>
    %13 = arith.maximumf %10, %12 : vector<128x1xf32>
    %14 = vector.broadcast %13 : vector<128x1xf32> to vector<128x128xf32>
    %15 = arith.subf %7, %14 : vector<128x128xf32>
    %cst_15 = arith.constant -1.000000e+02 : f32
    %16 = vector.broadcast %cst_15 : f32 to vector<128x128xf32>
    %17 = arith.cmpf olt, %15, %16 : vector<128x128xf32>
    %cst_16 = arith.constant -1.000000e+02 : f32
    %18 = vector.broadcast %cst_16 : f32 to vector<128x128xf32>
    %19 = arith.select %17, %18, %15 : vector<128x128xi1>, vector<128x128xf32>
    %20 = math.exp2 %19 : vector<128x128xf32>
    %cst_17 = arith.constant dense<0.000000e+00> : vector<128xf32>
    %21 = vector.multi_reduction <add>, %20, %cst_17 [1] : vector<128x128xf32> to vector<128xf32>
    %22 = vector.shape_cast %21 : vector<128xf32> to vector<128x1xf32>
    %23 = arith.truncf %20 : vector<128x128xf32> to vector<128x128xbf16>
    %cst_18 = arith.constant dense<0.000000e+00> : vector<128x64xf32>
    %24 = tpu.matmul %23, %9, %cst_18 {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false} : vector<128x128xbf16>, vector<128x64xbf16>, vector<128x64xf32> -> vector<128x64xf32>
    %25 = arith.subf %10, %13 : vector<128x1xf32>
    %cst_19 = arith.constant -1.000000e+02 : f32
    %26 = vector.broadcast %cst_19 : f32 to vector<128x1xf32>
    %27 = arith.cmpf olt, %25, %26 : vector<128x1xf32>
    %cst_20 = arith.constant 0.000000e+00 : f32
    %28 = vector.broadcast %cst_20 : f32 to vector<128x1xf32>
    %29 = arith.select %27, %28, %25 : vector<128x1xi1>, vector<128x1xf32>
    %30 = math.exp2 %29 : vector<128x1xf32>
    %cst_21 = arith.constant -1.000000e+02 : f32
    %31 = vector.broadcast %cst_21 : f32 to vector<128x1xf32>
    %32 = arith.cmpf olt, %25, %31 : vector<128x1xf32>
    %cst_22 = arith.constant 0.000000e+00 : f32
    %33 = vector.broadcast %cst_22 : f32 to vector<128x1xf32>
    %34 = arith.select %32, %33, %30 : vector<128x1xi1>, vector<128x1xf32>
    %c0_23 = arith.constant 0 : index
    %c0_24 = arith.constant 0 : index
    tpu.vector_store %arg8[%c0_23, %c0_24], %13 {strides = array<i32>} : memref<128x1xf32, #tpu.memory_space<vmem>>, vector<128x1xf32>, 
    %c0_25 = arith.constant 0 : index
    %c0_26 = arith.constant 0 : index
    %35 = vector.load %arg9[%c0_25, %c0_26] : memref<128x1xf32, #tpu.memory_space<vmem>>, vector<128x1xf32>
    %36 = arith.mulf %35, %34 : vector<128x1xf32>
    %37 = arith.addf %36, %22 : vector<128x1xf32>
    %c0_27 = arith.constant 0 : index
    %c0_28 = arith.constant 0 : index
    tpu.vector_store %arg9[%c0_27, %c0_28], %37 {strides = array<i32>} : memref<128x1xf32, #tpu.memory_space<vmem>>, vector<128x1xf32>, 
    %c0_29 = arith.constant 0 : index
    %c0_30 = arith.constant 0 : index
    %38 = vector.load %arg10[%c0_29, %c0_30] : memref<128x64xf32, #tpu.memory_space<vmem>>, vector<128x64xf32>
    %39 = vector.broadcast %34 : vector<128x1xf32> to vector<128x64xf32>
    %40 = arith.mulf %38, %39 : vector<128x64xf32>
    %41 = arith.addf %40, %24 : vector<128x64xf32>
    %c0_31 = arith.constant 0 : index
    %c0_32 = arith.constant 0 : index
    tpu.vector_store %arg10[%c0_31, %c0_32], %41 {strides = array<i32>} : memref<128x64xf32, #tpu.memory_space<vmem>>, vector<128x64xf32>, 
    %c1_i32 = arith.constant 1 : i32
    %42 = arith.cmpi eq, %arg3, %c1_i32 : i32
    scf.if %42 {
      %c0_33 = arith.constant 0 : index
      %c0_34 = arith.constant 0 : index
      %43 = vector.load %arg9[%c0_33, %c0_34] : memref<128x1xf32, #tpu.memory_space<vmem>>, vector<128x1xf32>
      %c0_35 = arith.constant 0 : index
      %c0_36 = arith.constant 0 : index
      %44 = vector.load %arg9[%c0_35, %c0_36] : memref<128x1xf32, #tpu.memory_space<vmem>>, vector<128x1xf32>
      %cst_37 = arith.constant 0.000000e+00 : f32
      %45 = vector.broadcast %cst_37 : f32 to vector<128x1xf32>
      %46 = arith.cmpf oeq, %44, %45 : vector<128x1xf32>
      %cst_38 = arith.constant 1.000000e+00 : f32
      %47 = vector.broadcast %cst_38 : f32 to vector<128x1xf32>
      %48 = arith.select %46, %47, %43 : vector<128x1xi1>, vector<128x1xf32>
      %c0_39 = arith.constant 0 : index
      %c0_40 = arith.constant 0 : index
      %49 = vector.load %arg10[%c0_39, %c0_40] : memref<128x64xf32, #tpu.memory_space<vmem>>, vector<128x64xf32>
      %50 = vector.broadcast %48 : vector<128x1xf32> to vector<128x64xf32>
      %51 = arith.divf %49, %50 : vector<128x64xf32>
      %52 = arith.truncf %51 : vector<128x64xf32> to vector<128x64xbf16>
      %c0_41 = arith.constant 0 : index
      %c0_42 = arith.constant 0 : index
      %c0_43 = arith.constant 0 : index
      %c0_44 = arith.constant 0 : index
      %53 = vector.shape_cast %52 : vector<128x64xbf16> to vector<1x1x128x64xbf16>
      tpu.vector_store %arg7[%c0_41, %c0_42, %c0_43, %c0_44], %53 {strides = array<i32>} : memref<1x1x128x64xbf16, #tpu.memory_space<vmem>>, vector<1x1x128x64xbf16>, 
    } else {
    }
    return
  }
  func.func @transform_0(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32) -> (i32, i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %arg1, %arg2, %c0_i32 : i32, i32, i32, i32
  }
  func.func @transform_1(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32) -> (i32, i32, i32, i32) {
    %c1_i32 = arith.constant 1 : i32
    %0 = arith.divsi %arg1, %c1_i32 : i32
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %0, %arg3, %c0_i32 : i32, i32, i32, i32
  }
  func.func @transform_2(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32) -> (i32, i32, i32, i32) {
    %c1_i32 = arith.constant 1 : i32
    %0 = arith.divsi %arg1, %c1_i32 : i32
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %0, %arg3, %c0_i32 : i32, i32, i32, i32
  }
  func.func @transform_3(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32) -> (i32, i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %arg1, %arg2, %c0_i32 : i32, i32, i32, i32
  }
}
