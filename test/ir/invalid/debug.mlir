// What the verifiers refuse: one message per constraint.
// RUN: smalti-opt %s -split-input-file -verify-diagnostics

func.func @f(%i: i32) attributes {iteration_bounds = array<i64: 4>} {
  // expected-error @below {{needs a dimension of the grid, which has 1, has 2}}
  %0 = tpu.iteration_bound 2 : i32
  return
}

// -----

func.func @f(%a: memref<8x128xf32, #tpu.memory_space<vmem>>) {
  // expected-error @below {{needs a shape of the ref's rank 2, has 1}}
  tpu.log_buffer "x" {shape = array<i64: 8>} : %a : memref<8x128xf32, #tpu.memory_space<vmem>>
  return
}

// -----

func.func @f(%a: memref<8x128xf32, #tpu.memory_space<vmem>>) {
  // expected-error @below {{needs a shape within the ref's 8x128, has 16x128}}
  tpu.log_buffer "x" {shape = array<i64: 16, 128>} : %a : memref<8x128xf32, #tpu.memory_space<vmem>>
  return
}
