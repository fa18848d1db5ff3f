module {
  func.func @flash_attention_backward_keys(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32, %arg4: memref<1x1x64x64xbf16, #tpu.memory_space<vmem>>, %arg5: memref<1x1x128x64xbf16, #tpu.memory_space<vmem>>, %arg6: memref<1x1x128x64xbf16, #tpu.memory_space<vmem>>, %arg7: memref<1x1x64x64xbf16, #tpu.memory_space<vmem>>, %arg8: memref<1x1x1x64xf32, #tpu.memory_space<vmem>>, %arg9: memref<1x1x1x64xf32, #tpu.memory_space<vmem>>, %arg10: memref<1x1x128x64xbf16, #tpu.memory_space<vmem>>, %arg11: memref<1x1x128x64xbf16, #tpu.memory_space<vmem>>, %arg12: memref<128x64xf32, #tpu.memory_space<vmem>>, %arg13: memref<128x64xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 1, 2, 2, 4>, scalar_prefetch = 0 : i64, scratch_operands = 2 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{transform_indices = @transform_0, window_bounds = array<i64: 1, 1, 64, 64>}, {transform_indices = @transform_1, window_bounds = array<i64: 1, 1, 128, 64>}, {transform_indices = @transform_2, window_bounds = array<i64: 1, 1, 128, 64>}, {transform_indices = @transform_3, window_bounds = array<i64: 1, 1, 64, 64>}, {transform_indices = @transform_4, window_bounds = array<i64: 1, 1, 1, 64>}, {transform_indices = @transform_5, window_bounds = array<i64: 1, 1, 1, 64>}, {transform_indices = @transform_6, window_bounds = array<i64: 1, 1, 128, 64>}, {transform_indices = @transform_7, window_bounds = array<i64: 1, 1, 128, 64>}]} {
    %c4_i32 = arith.constant 4 : i32
    %0 = arith.remsi %arg3, %c4_i32 : i32
    %c0_i32 = arith.constant 0 : i32
    %1 = arith.cmpi eq, %arg3, %c0_i32 : i32
    scf.if %1 {
      %cst = arith.constant 0.000000e+00 : f32
      %7 = vector.broadcast %cst : f32 to vector<128x64xf32>
      %c0 = arith.constant 0 : index
      %c0_0 = arith.constant 0 : index
      tpu.vector_store %arg12[%c0, %c0_0], %7 {strides = array<i32>} : memref<128x64xf32, #tpu.memory_space<vmem>>, vector<128x64xf32>, 
      %cst_1 = arith.constant 0.000000e+00 : f32
      %8 = vector.broadcast %cst_1 : f32 to vector<128x64xf32>
      %c0_2 = arith.constant 0 : index
      %c0_3 = arith.constant 0 : index
      tpu.vector_store %arg13[%c0_2, %c0_3], %8 {strides = array<i32>} : memref<128x64xf32, #tpu.memory_space<vmem>>, vector<128x64xf32>, 
    } else {
    }
    %c64_i32 = arith.constant 64 : i32
    %2 = arith.muli %0, %c64_i32 : i32
    %c63_i32 = arith.constant 63 : i32
    %3 = arith.addi %2, %c63_i32 : i32
    %c128_i32 = arith.constant 128 : i32
    %4 = arith.muli %arg2, %c128_i32 : i32
    %5 = arith.cmpi sle, %4, %3 : i32
    scf.if %5 {
      %c0 = arith.constant 0 : index
      %c0_0 = arith.constant 0 : index
      %c0_1 = arith.constant 0 : index
      %c0_2 = arith.constant 0 : index
      %7 = vector.load %arg4[%c0, %c0_0, %c0_1, %c0_2] : memref<1x1x64x64xbf16, #tpu.memory_space<vmem>>, vector<1x1x64x64xbf16>
      %8 = vector.shape_cast %7 : vector<1x1x64x64xbf16> to vector<64x64xbf16>
      %c0_3 = arith.constant 0 : index
      %c0_4 = arith.constant 0 : index
      %c0_5 = arith.constant 0 : index
      %c0_6 = arith.constant 0 : index
      %9 = vector.load %arg7[%c0_3, %c0_4, %c0_5, %c0_6] : memref<1x1x64x64xbf16, #tpu.memory_space<vmem>>, vector<1x1x64x64xbf16>
      %10 = vector.shape_cast %9 : vector<1x1x64x64xbf16> to vector<64x64xbf16>
      %c0_7 = arith.constant 0 : index
      %c0_8 = arith.constant 0 : index
      %c0_9 = arith.constant 0 : index
      %c0_10 = arith.constant 0 : index
      %11 = vector.load %arg9[%c0_7, %c0_8, %c0_9, %c0_10] : memref<1x1x1x64xf32, #tpu.memory_space<vmem>>, vector<1x1x1x64xf32>
      %12 = vector.shape_cast %11 : vector<1x1x1x64xf32> to vector<1x64xf32>
      %c0_11 = arith.constant 0 : index
      %c0_12 = arith.constant 0 : index
      %c0_13 = arith.constant 0 : index
      %c0_14 = arith.constant 0 : index
      %13 = vector.load %arg8[%c0_11, %c0_12, %c0_13, %c0_14] : memref<1x1x1x64xf32, #tpu.memory_space<vmem>>, vector<1x1x1x64xf32>
      %14 = vector.shape_cast %13 : vector<1x1x1x64xf32> to vector<1x64xf32>
      %c0_15 = arith.constant 0 : index
      %c0_16 = arith.constant 0 : index
      %c0_17 = arith.constant 0 : index
      %c0_18 = arith.constant 0 : index
      %15 = vector.load %arg6[%c0_15, %c0_16, %c0_17, %c0_18] : memref<1x1x128x64xbf16, #tpu.memory_space<vmem>>, vector<1x1x128x64xbf16>
      %16 = vector.shape_cast %15 : vector<1x1x128x64xbf16> to vector<128x64xbf16>
      %c0_19 = arith.constant 0 : index
      %c0_20 = arith.constant 0 : index
      %c0_21 = arith.constant 0 : index
      %c0_22 = arith.constant 0 : index
      %17 = vector.load %arg5[%c0_19, %c0_20, %c0_21, %c0_22] : memref<1x1x128x64xbf16, #tpu.memory_space<vmem>>, vector<1x1x128x64xbf16>
      %18 = vector.shape_cast %17 : vector<1x1x128x64xbf16> to vector<128x64xbf16>
      %cst = arith.constant dense<0.000000e+00> : vector<128x64xf32>
      %19 = tpu.matmul %18, %8, %cst {dimension_numbers = #tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>, transpose_lhs_hint = false} : vector<128x64xbf16>, vector<64x64xbf16>, vector<128x64xf32> -> vector<128x64xf32>
      %cst_23 = arith.constant 0.180336878 : f32
      %20 = vector.broadcast %cst_23 : f32 to vector<128x64xf32>
      %21 = arith.mulf %19, %20 : vector<128x64xf32>
      %22 = tpu.iota {dimensions = array<i32: 1>} : vector<128x64xi32>
      %c64_i32_24 = arith.constant 64 : i32
      %23 = arith.muli %0, %c64_i32_24 : i32
      %24 = vector.broadcast %23 : i32 to vector<128x64xi32>
      %25 = arith.addi %24, %22 : vector<128x64xi32>
      %26 = tpu.iota {dimensions = array<i32: 0>} : vector<128x64xi32>
      %c128_i32_25 = arith.constant 128 : i32
      %27 = arith.muli %arg2, %c128_i32_25 : i32
      %28 = vector.broadcast %27 : i32 to vector<128x64xi32>
      %29 = arith.addi %28, %26 : vector<128x64xi32>
      %30 = arith.cmpi sle, %29, %25 : vector<128x64xi32>
      %cst_26 = arith.constant 0xFF800000 : f32
      %31 = vector.broadcast %cst_26 : f32 to vector<128x64xf32>
      %32 = arith.select %30, %21, %31 : vector<128x64xi1>, vector<128x64xf32>
      %33 = vector.broadcast %14 : vector<1x64xf32> to vector<128x64xf32>
      %34 = arith.subf %32, %33 : vector<128x64xf32>
      %cst_27 = arith.constant -1.000000e+02 : f32
      %35 = vector.broadcast %cst_27 : f32 to vector<128x64xf32>
      %36 = arith.cmpf olt, %34, %35 : vector<128x64xf32>
      %cst_28 = arith.constant 0xFF800000 : f32
      %37 = vector.broadcast %cst_28 : f32 to vector<128x64xf32>
      %38 = arith.select %36, %37, %34 : vector<128x64xi1>, vector<128x64xf32>
      %39 = math.exp2 %38 : vector<128x64xf32>
      %cst_29 = arith.constant dense<0.000000e+00> : vector<128x64xf32>
      %40 = tpu.matmul %16, %10, %cst_29 {dimension_numbers = #tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>, transpose_lhs_hint = false} : vector<128x64xbf16>, vector<64x64xbf16>, vector<128x64xf32> -> vector<128x64xf32>
      %41 = vector.broadcast %12 : vector<1x64xf32> to vector<128x64xf32>
      %42 = arith.subf %40, %41 : vector<128x64xf32>
      %43 = arith.mulf %39, %42 : vector<128x64xf32>
      %44 = arith.truncf %39 : vector<128x64xf32> to vector<128x64xbf16>
      %cst_30 = arith.constant dense<0.000000e+00> : vector<128x64xf32>
      %45 = tpu.matmul %44, %10, %cst_30 {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false} : vector<128x64xbf16>, vector<64x64xbf16>, vector<128x64xf32> -> vector<128x64xf32>
      %c0_31 = arith.constant 0 : index
      %c0_32 = arith.constant 0 : index
      %46 = vector.load %arg13[%c0_31, %c0_32] : memref<128x64xf32, #tpu.memory_space<vmem>>, vector<128x64xf32>
      %47 = arith.addf %46, %45 : vector<128x64xf32>
      %c0_33 = arith.constant 0 : index
      %c0_34 = arith.constant 0 : index
      tpu.vector_store %arg13[%c0_33, %c0_34], %47 {strides = array<i32>} : memref<128x64xf32, #tpu.memory_space<vmem>>, vector<128x64xf32>, 
      %48 = arith.truncf %43 : vector<128x64xf32> to vector<128x64xbf16>
      %cst_35 = arith.constant dense<0.000000e+00> : vector<128x64xf32>
      %49 = tpu.matmul %48, %8, %cst_35 {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false} : vector<128x64xbf16>, vector<64x64xbf16>, vector<128x64xf32> -> vector<128x64xf32>
      %c0_36 = arith.constant 0 : index
      %c0_37 = arith.constant 0 : index
      %50 = vector.load %arg12[%c0_36, %c0_37] : memref<128x64xf32, #tpu.memory_space<vmem>>, vector<128x64xf32>
      %51 = arith.addf %50, %49 : vector<128x64xf32>
      %c0_38 = arith.constant 0 : index
      %c0_39 = arith.constant 0 : index
      tpu.vector_store %arg12[%c0_38, %c0_39], %51 {strides = array<i32>} : memref<128x64xf32, #tpu.memory_space<vmem>>, vector<128x64xf32>, 
    } else {
    }
    %c3_i32 = arith.constant 3 : i32
    %6 = arith.cmpi eq, %arg3, %c3_i32 : i32
    scf.if %6 {
      %c0 = arith.constant 0 : index
      %c0_0 = arith.constant 0 : index
      %7 = vector.load %arg12[%c0, %c0_0] : memref<128x64xf32, #tpu.memory_space<vmem>>, vector<128x64xf32>
      %cst = arith.constant 1.250000e-01 : f32
      %8 = vector.broadcast %cst : f32 to vector<128x64xf32>
      %9 = arith.mulf %7, %8 : vector<128x64xf32>
      %10 = arith.truncf %9 : vector<128x64xf32> to vector<128x64xbf16>
      %c0_1 = arith.constant 0 : index
      %c0_2 = arith.constant 0 : index
      %c0_3 = arith.constant 0 : index
      %c0_4 = arith.constant 0 : index
      %11 = vector.shape_cast %10 : vector<128x64xbf16> to vector<1x1x128x64xbf16>
      tpu.vector_store %arg10[%c0_1, %c0_2, %c0_3, %c0_4], %11 {strides = array<i32>} : memref<1x1x128x64xbf16, #tpu.memory_space<vmem>>, vector<1x1x128x64xbf16>, 
      %c0_5 = arith.constant 0 : index
      %c0_6 = arith.constant 0 : index
      %12 = vector.load %arg13[%c0_5, %c0_6] : memref<128x64xf32, #tpu.memory_space<vmem>>, vector<128x64xf32>
      %13 = arith.truncf %12 : vector<128x64xf32> to vector<128x64xbf16>
      %c0_7 = arith.constant 0 : index
      %c0_8 = arith.constant 0 : index
      %c0_9 = arith.constant 0 : index
      %c0_10 = arith.constant 0 : index
      %14 = vector.shape_cast %13 : vector<128x64xbf16> to vector<1x1x128x64xbf16>
      tpu.vector_store %arg11[%c0_7, %c0_8, %c0_9, %c0_10], %14 {strides = array<i32>} : memref<1x1x128x64xbf16, #tpu.memory_space<vmem>>, vector<1x1x128x64xbf16>, 
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
