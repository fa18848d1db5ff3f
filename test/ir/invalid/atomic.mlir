// What the verifiers refuse: one message per constraint.
// RUN: smalti-opt %s -split-input-file -verify-diagnostics

func.func @f(%r: memref<8xf32, #tpu.memory_space<any>>, %v: vector<8xf32>) {
  // expected-error @below {{has an unknown kind of update 'mul'}}
  %0 = tpu.atomic "mul" %r, %v : memref<8xf32, #tpu.memory_space<any>>, vector<8xf32> -> vector<8xf32>
  return
}

// -----

func.func @f(%r: memref<8xf32, #tpu.memory_space<vmem>>, %v: vector<8xf32>) {
  // expected-error @below {{needs a ref in ANY or HBM}}
  %0 = tpu.atomic "add" %r, %v : memref<8xf32, #tpu.memory_space<vmem>>, vector<8xf32> -> vector<8xf32>
  return
}

// -----

func.func @f(%r: memref<8xf32, #tpu.memory_space<any>>, %v: vector<8xf32>) {
  // expected-error @below {{needs a ref of a static shape, and of i32, has}}
  %0 = tpu.atomic "or" %r, %v : memref<8xf32, #tpu.memory_space<any>>, vector<8xf32> -> vector<8xf32>
  return
}

// -----

func.func @f(%r: memref<8xbf16, #tpu.memory_space<any>>, %v: vector<8xbf16>) {
  // expected-error @below {{needs a ref of a static shape, and of i32 or f32, has}}
  %0 = tpu.atomic "add" %r, %v : memref<8xbf16, #tpu.memory_space<any>>, vector<8xbf16> -> vector<8xbf16>
  return
}

// -----

func.func @f(%r: memref<8xf32, #tpu.memory_space<any>>, %v: vector<4xf32>) {
  // expected-error @below {{needs a value and a result of 'vector<8xf32>'}}
  %0 = tpu.atomic "add" %r, %v : memref<8xf32, #tpu.memory_space<any>>, vector<4xf32> -> vector<4xf32>
  return
}

// -----

func.func @f(%r: memref<i32, #tpu.memory_space<hbm>>, %v: i32) {
  // expected-error @below {{needs an expected value of the ref's type}}
  %0 = tpu.atomic "cas" %r, %v : memref<i32, #tpu.memory_space<hbm>>, i32 -> i32
  return
}

// -----

func.func @f(%r: memref<i32, #tpu.memory_space<hbm>>, %v: i32) {
  // expected-error @below {{needs no expected value}}
  %0 = tpu.atomic "add" %r, %v expected %v : i32 : memref<i32, #tpu.memory_space<hbm>>, i32 -> i32
  return
}
