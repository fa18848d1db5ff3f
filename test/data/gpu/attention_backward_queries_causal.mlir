module {
  func.func @flash_attention_backward_queries(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32, %arg4: memref<1x1x64x64xbf16, #tpu.memory_space<vmem>>, %arg5: memref<1x1x128x64xbf16, #tpu.memory_space<vmem>>, %arg6: memref<1x1x128x64xbf16, #tpu.memory_space<vmem>>, %arg7: memref<1x1x64x64xbf16, #tpu.memory_space<vmem>>, %arg8: memref<1x1x64x1xf32, #tpu.memory_space<vmem>>, %arg9: memref<1x1x64x1xf32, #tpu.memory_space<vmem>>, %arg10: memref<1x1x64x64xbf16, #tpu.memory_space<vmem>>, %arg11: memref<64x64xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 1, 2, 4, 2>, scalar_prefetch = 0 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{transform_indices = @transform_0, window_bounds = array<i64: 1, 1, 64, 64>}, {transform_indices = @transform_1, window_bounds = array<i64: 1, 1, 128, 64>}, {transform_indices = @transform_2, window_bounds = array<i64: 1, 1, 128, 64>}, {transform_indices = @transform_3, window_bounds = array<i64: 1, 1, 64, 64>}, {transform_indices = @transform_4, window_bounds = array<i64: 1, 1, 64, 1>}, {transform_indices = @transform_5, window_bounds = array<i64: 1, 1, 64, 1>}, {transform_indices = @transform_6, window_bounds = array<i64: 1, 1, 64, 64>}]} {
    %c0_i32 = arith.constant 0 : i32
    %0 = arith.cmpi eq, %arg3, %c0_i32 : i32
    scf.if %0 {
      %cst = arith.constant 0.000000e+00 : f32
      %6 = vector.broadcast %cst : f32 to vector<64x64xf32>
      %c0 = arith.constant 0 : index
      %c0_0 = arith.constant 0 : index
      tpu.vector_store %arg11[%c0, %c0_0], %6 {strides = array<i32>} : memref<64x64xf32, #tpu.memory_space<vmem>>, vector<64x64xf32>, 
    } else {
    }
    %c64_i32 = arith.constant 64 : i32
    %1 = arith.muli %arg2, %c64_i32 : i32
    %c63_i32 = arith.constant 63 : i32
    %2 = arith.addi %1, %c63_i32 : i32
    %c128_i32 = arith.constant 128 : i32
    %3 = arith.muli %arg3, %c128_i32 : i32
    %4 = arith.cmpi sle, %3, %2 : i32
    scf.if %4 {
      %c0 = arith.constant 0 : index
      %c0_0 = arith.constant 0 : index
      %c0_1 = arith.constant 0 : index
      %c0_2 = arith.constant 0 : index
      %6 = vector.load %arg5[%c0, %c0_0, %c0_1, %c0_2] : memref<1x1x128x64xbf16, #tpu.memory_space<vmem>>, vector<1x1x128x64xbf16>
      %7 = vector.shape_cast %6 : vector<1x1x128x64xbf16> to vector<128x64xbf16>
      %c0_3 = arith.constant 0 : index
      %c0_4 = arith.constant 0 : index
      %c0_5 = arith.constant 0 : index
      %c0_6 = arith.constant 0 : index
      %8 = vector.load %arg9[%c0_3, %c0_4, %c0_5, %c0_6] : memref<1x1x64x1xf32, #tpu.memory_space<vmem>>, vector<1x1x64x1xf32>
      %9 = vector.shape_cast %8 : vector<1x1x64x1xf32> to vector<64x1xf32>
      %c0_7 = arith.constant 0 : index
      %c0_8 = arith.constant 0 : index
      %c0_9 = arith.constant 0 : index
      %c0_10 = arith.constant 0 : index
      %10 = vector.load %arg8[%c0_7, %c0_8, %c0_9, %c0_10] : memref<1x1x64x1xf32, #tpu.memory_space<vmem>>, vector<1x1x64x1xf32>
      %11 = vector.shape_cast %10 : vector<1x1x64x1xf32> to vector<64x1xf32>
      %c0_11 = arith.constant 0 : index
      %c0_12 = arith.constant 0 : index
      %c0_13 = arith.constant 0 : index
      %c0_14 = arith.constant 0 : index
      %12 = vector.load %arg7[%c0_11, %c0_12, %c0_13, %c0_14] : memref<1x1x64x64xbf16, #tpu.memory_space<vmem>>, vector<1x1x64x64xbf16>
      %13 = vector.shape_cast %12 : vector<1x1x64x64xbf16> to vector<64x64xbf16>
      %c0_15 = arith.constant 0 : index
      %c0_16 = arith.constant 0 : index
      %c0_17 = arith.constant 0 : index
      %c0_18 = arith.constant 0 : index
      %14 = vector.load %arg6[%c0_15, %c0_16, %c0_17, %c0_18] : memref<1x1x128x64xbf16, #tpu.memory_space<vmem>>, vector<1x1x128x64xbf16>
      %15 = vector.shape_cast %14 : vector<1x1x128x64xbf16> to vector<128x64xbf16>
      %c0_19 = arith.constant 0 : index
      %c0_20 = arith.constant 0 : index
      %c0_21 = arith.constant 0 : index
      %c0_22 = arith.constant 0 : index
      %16 = vector.load %arg4[%c0_19, %c0_20, %c0_21, %c0_22] : memref<1x1x64x64xbf16, #tpu.memory_space<vmem>>, vector<1x1x64x64xbf16>
      %17 = vector.shape_cast %16 : vector<1x1x64x64xbf16> to vector<64x64xbf16>
      %cst = arith.constant dense<0.000000e+00> : vector<64x128xf32>
      %18 = tpu.matmul %17, %7, %cst {dimension_numbers = #tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>, transpose_lhs_hint = false} : vector<64x64xbf16>, vector<128x64xbf16>, vector<64x128xf32> -> vector<64x128xf32>
      %cst_23 = arith.constant 0.180336878 : f32
      %19 = vector.broadcast %cst_23 : f32 to vector<64x128xf32>
      %20 = arith.mulf %18, %19 : vector<64x128xf32>
      %21 = tpu.iota {dimensions = array<i32: 0>} : vector<64x128xi32>
      %c64_i32_24 = arith.constant 64 : i32
      %22 = arith.muli %arg2, %c64_i32_24 : i32
      %23 = vector.broadcast %22 : i32 to vector<64x128xi32>
      %24 = arith.addi %23, %21 : vector<64x128xi32>
      %25 = tpu.iota {dimensions = array<i32: 1>} : vector<64x128xi32>
      %c128_i32_25 = arith.constant 128 : i32
      %26 = arith.muli %arg3, %c128_i32_25 : i32
      %27 = vector.broadcast %26 : i32 to vector<64x128xi32>
      %28 = arith.addi %27, %25 : vector<64x128xi32>
      %29 = arith.cmpi sle, %28, %24 : vector<64x128xi32>
      %cst_26 = arith.constant 0xFF800000 : f32
      %30 = vector.broadcast %cst_26 : f32 to vector<64x128xf32>
      %31 = arith.select %29, %20, %30 : vector<64x128xi1>, vector<64x128xf32>
      %32 = vector.broadcast %11 : vector<64x1xf32> to vector<64x128xf32>
      %33 = arith.subf %31, %32 : vector<64x128xf32>
      %cst_27 = arith.constant -1.000000e+02 : f32
      %34 = vector.broadcast %cst_27 : f32 to vector<64x128xf32>
      %35 = arith.cmpf olt, %33, %34 : vector<64x128xf32>
      %cst_28 = arith.constant 0xFF800000 : f32
      %36 = vector.broadcast %cst_28 : f32 to vector<64x128xf32>
      %37 = arith.select %35, %36, %33 : vector<64x128xi1>, vector<64x128xf32>
      %38 = math.exp2 %37 : vector<64x128xf32>
      %cst_29 = arith.constant dense<0.000000e+00> : vector<64x128xf32>
      %39 = tpu.matmul %13, %15, %cst_29 {dimension_numbers = #tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>, transpose_lhs_hint = false} : vector<64x64xbf16>, vector<128x64xbf16>, vector<64x128xf32> -> vector<64x128xf32>
      %40 = vector.broadcast %9 : vector<64x1xf32> to vector<64x128xf32>
      %41 = arith.subf %39, %40 : vector<64x128xf32>
      %42 = arith.mulf %38, %41 : vector<64x128xf32>
      %43 = arith.truncf %42 : vector<64x128xf32> to vector<64x128xbf16>
      %cst_30 = arith.constant dense<0.000000e+00> : vector<64x64xf32>
      %44 = tpu.matmul %43, %7, %cst_30 {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false} : vector<64x128xbf16>, vector<128x64xbf16>, vector<64x64xf32> -> vector<64x64xf32>
      %c0_31 = arith.constant 0 : index
      %c0_32 = arith.constant 0 : index
      %45 = vector.load %arg11[%c0_31, %c0_32] : memref<64x64xf32, #tpu.memory_space<vmem>>, vector<64x64xf32>
      %46 = arith.addf %45, %44 : vector<64x64xf32>
      %c0_33 = arith.constant 0 : index
      %c0_34 = arith.constant 0 : index
      tpu.vector_store %arg11[%c0_33, %c0_34], %46 {strides = array<i32>} : memref<64x64xf32, #tpu.memory_space<vmem>>, vector<64x64xf32>, 
    } else {
    }
    %c1_i32 = arith.constant 1 : i32
    %5 = arith.cmpi eq, %arg3, %c1_i32 : i32
    scf.if %5 {
      %c0 = arith.constant 0 : index
      %c0_0 = arith.constant 0 : index
      %6 = vector.load %arg11[%c0, %c0_0] : memref<64x64xf32, #tpu.memory_space<vmem>>, vector<64x64xf32>
      %cst = arith.constant 1.250000e-01 : f32
      %7 = vector.broadcast %cst : f32 to vector<64x64xf32>
      %8 = arith.mulf %6, %7 : vector<64x64xf32>
      %9 = arith.truncf %8 : vector<64x64xf32> to vector<64x64xbf16>
      %c0_1 = arith.constant 0 : index
      %c0_2 = arith.constant 0 : index
      %c0_3 = arith.constant 0 : index
      %c0_4 = arith.constant 0 : index
      %10 = vector.shape_cast %9 : vector<64x64xbf16> to vector<1x1x64x64xbf16>
      tpu.vector_store %arg10[%c0_1, %c0_2, %c0_3, %c0_4], %10 {strides = array<i32>} : memref<1x1x64x64xbf16, #tpu.memory_space<vmem>>, vector<1x1x64x64xbf16>, 
    } else {
    }
    return
  }
  func.func @transform_0(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32) -> (i32, i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %arg1, %arg2, %c0_i32 : i32, i32, i32, i32
  }
  func.func @transform_1(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32) -> (i32, i32, i32, i32) {
    %c64_i32 = arith.constant 64 : i32
    %0 = arith.muli %arg2, %c64_i32 : i32
    %c63_i32 = arith.constant 63 : i32
    %1 = arith.addi %0, %c63_i32 : i32
    %c128_i32 = arith.constant 128 : i32
    %2 = arith.divsi %1, %c128_i32 : i32
    %c1_i32 = arith.constant 1 : i32
    %3 = arith.divsi %arg1, %c1_i32 : i32
    %4 = arith.minsi %arg3, %2 : i32
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %3, %4, %c0_i32 : i32, i32, i32, i32
  }
  func.func @transform_2(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32) -> (i32, i32, i32, i32) {
    %c64_i32 = arith.constant 64 : i32
    %0 = arith.muli %arg2, %c64_i32 : i32
    %c63_i32 = arith.constant 63 : i32
    %1 = arith.addi %0, %c63_i32 : i32
    %c128_i32 = arith.constant 128 : i32
    %2 = arith.divsi %1, %c128_i32 : i32
    %c1_i32 = arith.constant 1 : i32
    %3 = arith.divsi %arg1, %c1_i32 : i32
    %4 = arith.minsi %arg3, %2 : i32
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %3, %4, %c0_i32 : i32, i32, i32, i32
  }
  func.func @transform_3(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32) -> (i32, i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %arg1, %arg2, %c0_i32 : i32, i32, i32, i32
  }
  func.func @transform_4(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32) -> (i32, i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %arg1, %arg2, %c0_i32 : i32, i32, i32, i32
  }
  func.func @transform_5(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32) -> (i32, i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %arg1, %arg2, %c0_i32 : i32, i32, i32, i32
  }
  func.func @transform_6(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32) -> (i32, i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %arg1, %arg2, %c0_i32 : i32, i32, i32, i32
  }
}
