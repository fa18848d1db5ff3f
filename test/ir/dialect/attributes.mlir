// Every attribute and type of the dialect.
// RUN: smalti-opt %s | FileCheck %s
// RUN: smalti-opt %s --emit-bytecode | smalti-opt | FileCheck %s

// CHECK: a = #tpu.memory_space<any>, b = #tpu.memory_space<vmem, tc>, c = #tpu.core_type<sc_vector_subcore>
// CHECK-SAME: d = #tpu.dimension_semantics<core_parallel>, e = #tpu.pipeline_mode<double_buffered>, f = #tpu.revisit_mode<any>
// CHECK-SAME: g = #tpu.element_window<[8, 0], [0, 0]>, h = #tpu.contract_precision<bf16x3>, i = #tpu.reduction_kind<find_first_set>
// CHECK-SAME: j = #tpu.pack_format<interleaved>, k = #tpu.rounding_mode<to_nearest_even>, l = #tpu.tiled<(8,128)(2,1),[4,1]>
// CHECK-SAME: m = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, n = !tpu.float8_exmy<f6E2M3FN>
func.func @attributes() attributes {a = #tpu.memory_space<any>, b = #tpu.memory_space<vmem, tc>, c = #tpu.core_type<sc_vector_subcore>,
    d = #tpu.dimension_semantics<core_parallel>, e = #tpu.pipeline_mode<double_buffered>, f = #tpu.revisit_mode<any>,
    g = #tpu.element_window<[8, 0], [0, 0]>, h = #tpu.contract_precision<bf16x3>, i = #tpu.reduction_kind<find_first_set>,
    j = #tpu.pack_format<interleaved>, k = #tpu.rounding_mode<to_nearest_even>, l = #tpu.tiled<(8,128)(2,1),[4,1]>,
    m = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, n = !tpu.float8_exmy<f6E2M3FN>} {
  return
}

// CHECK: func.func @types(%{{.*}}: memref<2x!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, %{{.*}}: memref<16x256xf32, #tpu.tiled<(8,128),[2,1]>, #tpu.memory_space<vmem>>)
func.func @types(%a: memref<2x!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, %b: memref<16x256xf32, #tpu.tiled<(8,128),[2,1]>, #tpu.memory_space<vmem>>) {
  return
}
