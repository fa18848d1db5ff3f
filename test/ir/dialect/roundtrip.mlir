// Every op of the dialect: pretty, generic and bytecode forms give the same text back.
// RUN: smalti-opt %s | FileCheck %s
// RUN: smalti-opt %s --mlir-print-op-generic | smalti-opt | FileCheck %s
// RUN: smalti-opt %s --emit-bytecode | smalti-opt | FileCheck %s

// CHECK-LABEL: func.func @mxu
func.func @mxu(%l: vector<8x128xf32>, %r: vector<128x256xf32>, %acc: vector<8x256xf32>) {
  // CHECK: tpu.matmul %{{.*}}, %{{.*}}, %{{.*}} {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, precision = #tpu.contract_precision<fp32>, transpose_lhs_hint = false} : vector<8x128xf32>, vector<128x256xf32>, vector<8x256xf32> -> vector<8x256xf32>
  %0 = tpu.matmul %l, %r, %acc {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, precision = #tpu.contract_precision<fp32>, transpose_lhs_hint = false} : vector<8x128xf32>, vector<128x256xf32>, vector<8x256xf32> -> vector<8x256xf32>
  // CHECK: tpu.matmul_push_rhs %{{.*}} {mxu_index = 1 : i32, staging_register = 1 : i32, transpose = true} : vector<128x256xf32>
  tpu.matmul_push_rhs %r {mxu_index = 1 : i32, staging_register = 1 : i32, transpose = true} : vector<128x256xf32>
  // CHECK: tpu.matmul_acc_lhs 0, %{{.*}} {load_staged_rhs = 1 : i32, mxu_index = 1 : i32} : vector<8x128xf32>
  tpu.matmul_acc_lhs 0, %l {load_staged_rhs = 1 : i32, mxu_index = 1 : i32} : vector<8x128xf32>
  // CHECK: tpu.matmul_pop 0 {mxu_index = 1 : i32} : vector<8x256xf32>
  %1 = tpu.matmul_pop 0 {mxu_index = 1 : i32} : vector<8x256xf32>
  // CHECK: tpu.matmul_lhs_fifo %{{.*}} {mxu_index = 0 : i32} : vector<8x128xf32>
  tpu.matmul_lhs_fifo %l {mxu_index = 0 : i32} : vector<8x128xf32>
  // CHECK: tpu.matmul_pop_fifo 0 : vector<8x256xf32>
  %2 = tpu.matmul_pop_fifo 0 : vector<8x256xf32>
  return
}

// CHECK-LABEL: func.func @conv
func.func @conv(%l: vector<2x8x8x128xf32>, %r: vector<3x3x128x128xf32>, %g: vector<3x3x64x128xf32>, %acc: vector<2x3x6x128xf32>) {
  // CHECK: tpu.conv %{{.*}}, %{{.*}}, %{{.*}} {dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1, 2]>, lhs_dilation = array<i64: 1, 1>, padding = array<i64: 1, -1, 0, 0>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, true>, window_strides = array<i64: 2, 1>} : vector<2x8x8x128xf32>, vector<3x3x128x128xf32>, vector<2x3x6x128xf32> -> vector<2x3x6x128xf32>
  %0 = tpu.conv %l, %r, %acc {dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1, 2]>, lhs_dilation = array<i64: 1, 1>, padding = array<i64: 1, -1, 0, 0>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, true>, window_strides = array<i64: 2, 1>} : vector<2x8x8x128xf32>, vector<3x3x128x128xf32>, vector<2x3x6x128xf32> -> vector<2x3x6x128xf32>
  // CHECK: tpu.conv %{{.*}}, %{{.*}}, %{{.*}} {dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1, 2]>, feature_group_count = 2 : i64, lhs_dilation = array<i64: 1, 1>, padding = array<i64: 1, -1, 0, 0>, precision = #tpu.contract_precision<fp32>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, true>, window_strides = array<i64: 2, 1>} : vector<2x8x8x128xf32>, vector<3x3x64x128xf32>, vector<2x3x6x128xf32> -> vector<2x3x6x128xf32>
  %1 = tpu.conv %l, %g, %acc {dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1, 2]>, feature_group_count = 2 : i64, lhs_dilation = array<i64: 1, 1>, padding = array<i64: 1, -1, 0, 0>, precision = #tpu.contract_precision<fp32>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, true>, window_strides = array<i64: 2, 1>} : vector<2x8x8x128xf32>, vector<3x3x64x128xf32>, vector<2x3x6x128xf32> -> vector<2x3x6x128xf32>
  return
}

// CHECK-LABEL: func.func @shape
func.func @shape(%v: vector<8x128xf32>, %i: i32, %idx: vector<8x128xi32>) {
  // CHECK: tpu.iota {dimensions = array<i32: 1>} : vector<8x128xi32>
  %0 = tpu.iota {dimensions = array<i32: 1>} : vector<8x128xi32>
  // CHECK: tpu.concatenate %{{.*}}, %{{.*}} in 0 : vector<8x128xf32>, vector<8x128xf32> -> vector<16x128xf32>
  %1 = tpu.concatenate %v, %v in 0 : vector<8x128xf32>, vector<8x128xf32> -> vector<16x128xf32>
  // CHECK: tpu.transpose %{{.*}}, [1, 0] : vector<8x128xf32> -> vector<128x8xf32>
  %2 = tpu.transpose %v, [1, 0] : vector<8x128xf32> -> vector<128x8xf32>
  // CHECK: tpu.dynamic_rotate %{{.*}} by %{{.*}} dim 1 {stride = 1 : si32, stride_dimension = 0 : si32} : vector<8x128xf32>, i32 -> vector<8x128xf32>
  %3 = tpu.dynamic_rotate %v by %i dim 1 {stride = 1 : si32, stride_dimension = 0 : si32} : vector<8x128xf32>, i32 -> vector<8x128xf32>
  // CHECK: tpu.dynamic_gather %{{.*}}[%{{.*}}] in [0] : vector<8x128xf32>, vector<8x128xi32> -> vector<8x128xf32>
  %4 = tpu.dynamic_gather %v[%idx] in [0] : vector<8x128xf32>, vector<8x128xi32> -> vector<8x128xf32>
  // CHECK: tpu.reduce_index %{{.*}} {axis = 1 : i32, kind = #tpu.reduction_kind<arg_max>} : vector<8x128xf32> -> vector<8xi32>
  %5 = tpu.reduce_index %v {axis = 1 : i32, kind = #tpu.reduction_kind<arg_max>} : vector<8x128xf32> -> vector<8xi32>
  return
}

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%v: vector<8x128xf32>, %w: vector<8x128xi32>, %i: i32) {
  // CHECK: tpu.bitcast %{{.*}} : vector<8x128xf32> -> vector<16x128xbf16>
  %0 = tpu.bitcast %v : vector<8x128xf32> -> vector<16x128xbf16>
  // CHECK: tpu.reciprocal %{{.*}} {approx = true} : vector<8x128xf32> -> vector<8x128xf32>
  %1 = tpu.reciprocal %v {approx = true} : vector<8x128xf32> -> vector<8x128xf32>
  // CHECK: tpu.reduce_precision %{{.*}} {exponent_bits = 5 : i32, mantissa_bits = 10 : i32} : vector<8x128xf32> -> vector<8x128xf32>
  %reduced = tpu.reduce_precision %v {exponent_bits = 5 : i32, mantissa_bits = 10 : i32} : vector<8x128xf32> -> vector<8x128xf32>
  // CHECK: tpu.weird %{{.*}} : vector<8x128xf32> -> vector<8x128xi1>
  %2 = tpu.weird %v : vector<8x128xf32> -> vector<8x128xi1>
  // CHECK: tpu.stochastic_convert %{{.*}}, %{{.*}} : vector<8x128xf32>, vector<8x128xi32> -> vector<8x128xbf16>
  %3 = tpu.stochastic_convert %v, %w : vector<8x128xf32>, vector<8x128xi32> -> vector<8x128xbf16>
  // CHECK: tpu.pack_elementwise %{{.*}}, %{{.*}} {target_type = bf16} : vector<8x128xf32>, vector<8x128xf32> -> vector<8x128xi32>
  %4 = tpu.pack_elementwise %v, %v {target_type = bf16} : vector<8x128xf32>, vector<8x128xf32> -> vector<8x128xi32>
  // CHECK: tpu.unpack_elementwise %{{.*}}, 3 {source_type = i8} : vector<8x128xi32> -> vector<8x128xi32>
  %5 = tpu.unpack_elementwise %w, 3 {source_type = i8} : vector<8x128xi32> -> vector<8x128xi32>
  // CHECK: tpu.assume_multiple %{{.*}}, 8 : i32
  %6 = tpu.assume_multiple %i, 8 : i32
  // CHECK: "tpu.prng_set_seed_32"(%{{.*}}) : (i32) -> ()
  "tpu.prng_set_seed_32"(%i) : (i32) -> ()
  // CHECK: "tpu.prng_random_bits"() : () -> vector<8x128xi32>
  %7 = "tpu.prng_random_bits"() : () -> vector<8x128xi32>
  return
}

// CHECK-LABEL: func.func @memory
func.func @memory(%r: memref<16x128xf32, #tpu.memory_space<vmem>>, %v: vector<8x128xf32>, %m: vector<8x128xi1>, %c: index, %i: i32) {
  // CHECK: tpu.vector_store %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}} {strides = array<i32>} : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>,
  tpu.vector_store %r[%c, %c], %v {strides = array<i32>} : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>,
  // CHECK: tpu.vector_store %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}} masked %{{.*}} {add = true, strides = array<i32>} : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>, vector<8x128xi1>
  tpu.vector_store %r[%c, %c], %v masked %m {add = true, strides = array<i32>} : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>, vector<8x128xi1>
  // CHECK: tpu.strided_load %{{.*}}[%{{.*}}, %{{.*}}] {strides = array<i32: 2, 1>} : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
  %0 = tpu.strided_load %r[%c, %c] {strides = array<i32: 2, 1>} : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
  // CHECK: tpu.strided_store %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}} {strides = array<i32: 2, 1>} : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
  tpu.strided_store %r[%c, %c], %v {strides = array<i32: 2, 1>} : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
  // CHECK: tpu.memref_slice %{{.*}}[%{{.*}}, %{{.*}}] <%{{.*}}> : memref<16x128xf32, #tpu.memory_space<vmem>> -> memref<?x128xf32, #tpu.memory_space<vmem>>
  %1 = tpu.memref_slice %r[%i, %i]<%i> : memref<16x128xf32, #tpu.memory_space<vmem>> -> memref<?x128xf32, #tpu.memory_space<vmem>>
  // CHECK: tpu.memref_slice %{{.*}}[%{{.*}}, %{{.*}}] : memref<16x128xf32, #tpu.memory_space<vmem>> -> memref<1x128xf32, #tpu.memory_space<vmem>>
  %2 = tpu.memref_slice %r[%i, %i] : memref<16x128xf32, #tpu.memory_space<vmem>> -> memref<1x128xf32, #tpu.memory_space<vmem>>
  // CHECK: tpu.memref_squeeze %{{.*}} : memref<1x128xf32, #tpu.memory_space<vmem>> -> memref<128xf32, #tpu.memory_space<vmem>>
  %3 = tpu.memref_squeeze %2 : memref<1x128xf32, #tpu.memory_space<vmem>> -> memref<128xf32, #tpu.memory_space<vmem>>
  // CHECK: tpu.memref_reshape %{{.*}} : memref<16x128xf32, #tpu.memory_space<vmem>> -> memref<8x256xf32, #tpu.memory_space<vmem>>
  %4 = tpu.memref_reshape %r : memref<16x128xf32, #tpu.memory_space<vmem>> -> memref<8x256xf32, #tpu.memory_space<vmem>>
  // CHECK: tpu.memref_bitcast %{{.*}} : memref<16x128xf32, #tpu.memory_space<vmem>> -> memref<32x128xi16, #tpu.memory_space<vmem>>
  %5 = tpu.memref_bitcast %r : memref<16x128xf32, #tpu.memory_space<vmem>> -> memref<32x128xi16, #tpu.memory_space<vmem>>
  // CHECK: tpu.annotate %{{.*}} {no_bank_conflict = true} : memref<16x128xf32, #tpu.memory_space<vmem>>
  %7 = tpu.annotate %r {no_bank_conflict = true, no_store = false} : memref<16x128xf32, #tpu.memory_space<vmem>>
  // CHECK: tpu.memref_memory_space_is %{{.*}}, <hbm> : memref<16x128xf32, #tpu.memory_space<vmem>>
  %8 = tpu.memref_memory_space_is %r, <hbm> : memref<16x128xf32, #tpu.memory_space<vmem>>
  // CHECK: "tpu.region"() ({
  // CHECK:   tpu.yield %{{.*}} : i32
  // CHECK: }) : () -> i32
  %6 = "tpu.region"() ({
    tpu.yield %i : i32
  }) : () -> i32
  return
}

// CHECK-LABEL: func.func @sync
func.func @sync(%a: memref<8x128xf32, #tpu.memory_space<any>>, %b: memref<8x128xf32, #tpu.memory_space<vmem>>, %i: i32) {
  // CHECK: tpu.sem_alloc : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
  %d = tpu.sem_alloc : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
  // CHECK: tpu.sem_barrier : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
  %s = tpu.sem_barrier : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
  // CHECK: tpu.sem_read %{{.*}} : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>> -> i32
  %0 = tpu.sem_read %s : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>> -> i32
  // CHECK: tpu.sem_wait %{{.*}}, %{{.*}} : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
  tpu.sem_wait %s, %i : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
  // CHECK: tpu.sem_signal %{{.*}}, %{{.*}} device_id %{{.*}} core_id %{{.*}} : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
  tpu.sem_signal %s, %i device_id %i core_id %i : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
  // CHECK: tpu.enqueue_dma source(%{{.*}} : memref<8x128xf32, #tpu.memory_space<any>>) target(%{{.*}} : memref<8x128xf32, #tpu.memory_space<vmem>>) target_semaphore(%{{.*}} : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {priority = 1 : i32}
  tpu.enqueue_dma source(%a : memref<8x128xf32, #tpu.memory_space<any>>) target(%b : memref<8x128xf32, #tpu.memory_space<vmem>>) target_semaphore(%d : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {priority = 1 : i32}
  // CHECK: tpu.enqueue_dma source({{.*}}) target({{.*}}) source_semaphore({{.*}}) target_semaphore({{.*}}) device_id(%{{.*}})
  tpu.enqueue_dma source(%a : memref<8x128xf32, #tpu.memory_space<any>>) target(%b : memref<8x128xf32, #tpu.memory_space<vmem>>) source_semaphore(%d : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) target_semaphore(%d : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) device_id(%i)
  // CHECK: tpu.wait_dma source({{.*}}) target({{.*}}) target_semaphore({{.*}}) {wait_target = true}
  tpu.wait_dma source(%a : memref<8x128xf32, #tpu.memory_space<any>>) target(%b : memref<8x128xf32, #tpu.memory_space<vmem>>) target_semaphore(%d : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {wait_target = true}
  // CHECK: tpu.wait_dma2 semaphore({{.*}}) src({{.*}}) dst({{.*}}) device_id(%{{.*}})
  tpu.wait_dma2 semaphore(%d : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) src(%a : memref<8x128xf32, #tpu.memory_space<any>>) dst(%b : memref<8x128xf32, #tpu.memory_space<vmem>>) device_id(%i)
  return
}

// CHECK-LABEL: func.func @debug
func.func @debug(%i: i32, %f: f32, %r: memref<8x128xf32, #tpu.memory_space<vmem>>) attributes {iteration_bounds = array<i64: 4>} {
  // CHECK: tpu.iteration_bound 0 : i32
  %0 = tpu.iteration_bound 0 : i32
  // CHECK: tpu.device_id : i32
  %1 = tpu.device_id : i32
  // CHECK: tpu.delay %{{.*}}
  tpu.delay %i
  // CHECK: "tpu.trace_start"() <{level = 10 : i32, message = "span"}> : () -> ()
  "tpu.trace_start"() <{level = 10 : i32, message = "span"}> : () -> ()
  // CHECK: "tpu.trace_stop"() : () -> ()
  "tpu.trace_stop"() : () -> ()
  // CHECK: tpu.trace_value %{{.*}}, "x" : f32
  tpu.trace_value %f, "x" : f32
  // CHECK: tpu.log "$s0 $f1" {formatted = true} : [%{{.*}}, %{{.*}}] : i32, f32
  tpu.log "$s0 $f1" {formatted = true} : [%i, %f] : i32, f32
  // CHECK: tpu.log_buffer "r" {shape = array<i64: 8, 128>} : %{{.*}} : memref<8x128xf32, #tpu.memory_space<vmem>>
  tpu.log_buffer "r" {shape = array<i64: 8, 128>} : %r : memref<8x128xf32, #tpu.memory_space<vmem>>
  return
}

// CHECK-LABEL: func.func @atomic
func.func @atomic(%r: memref<8xf32, #tpu.memory_space<any>>, %s: memref<i32, #tpu.memory_space<hbm>>, %v: vector<8xf32>, %i: i32) {
  // CHECK: tpu.atomic "add" %{{.*}}, %{{.*}} : memref<8xf32, #tpu.memory_space<any>>, vector<8xf32> -> vector<8xf32>
  %0 = tpu.atomic "add" %r, %v : memref<8xf32, #tpu.memory_space<any>>, vector<8xf32> -> vector<8xf32>
  // CHECK: tpu.atomic "cas" %{{.*}}, %{{.*}} expected %{{.*}} : i32 : memref<i32, #tpu.memory_space<hbm>>, i32 -> i32
  %1 = tpu.atomic "cas" %s, %i expected %i : i32 : memref<i32, #tpu.memory_space<hbm>>, i32 -> i32
  return
}
