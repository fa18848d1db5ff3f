// What the verifiers refuse: one message per constraint.
// RUN: smalti-opt %s -split-input-file -verify-diagnostics

func.func @f(%v: vector<8x128xf32>, %r: memref<8x128xf32, #tpu.memory_space<hbm>>, %k: index) {
  // expected-error @below {{needs a ref in VMEM, has 'memref<8x128xf32, #tpu.memory_space<hbm>>'}}
  tpu.vector_store %r[%k, %k], %v {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<hbm>>, vector<8x128xf32>,
  return
}

// -----

func.func @f(%v: vector<8x128xf32>, %r: memref<8x128xf32, #tpu.memory_space<vmem>>, %k: index) {
  // expected-error @below {{needs an index for each of the ref's 2 dimensions, has 1}}
  tpu.vector_store %r[%k], %v {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>,
  return
}

// -----

func.func @f(%v: vector<8x128xf32>, %r: memref<8x128xf32, #tpu.memory_space<vmem>>, %k: index) {
  // expected-error @below {{needs no strides (that is strided_store), has 1, 1}}
  tpu.vector_store %r[%k, %k], %v {strides = array<i32: 1, 1>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>,
  return
}

// -----

func.func @f(%v: vector<8x128xbf16>, %r: memref<8x128xf32, #tpu.memory_space<vmem>>, %k: index) {
  // expected-error @below {{needs a vector of the ref's elements, 'f32', has 'vector<8x128xbf16>'}}
  tpu.vector_store %r[%k, %k], %v {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xbf16>,
  return
}

// -----

func.func @f(%v: vector<8x128xbf16>, %r: memref<8x128xbf16, #tpu.memory_space<vmem>>, %k: index, %m: vector<8x128xi1>) {
  // expected-error @below {{needs 32-bit elements to store with a mask, has 'vector<8x128xbf16>'}}
  tpu.vector_store %r[%k, %k], %v masked %m {strides = array<i32>} : memref<8x128xbf16, #tpu.memory_space<vmem>>, vector<8x128xbf16>, vector<8x128xi1>
  return
}

// -----

func.func @f(%v: vector<8x128xf32>, %r: memref<8x128xf32, #tpu.memory_space<vmem>>, %k: index, %m: vector<8x64xi1>) {
  // expected-error @below {{needs a mask of the vector's shape 8x128 and of i1, has 'vector<8x64xi1>'}}
  tpu.vector_store %r[%k, %k], %v masked %m {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>, vector<8x64xi1>
  return
}

// -----

func.func @f(%r: memref<8x128xf32, #tpu.memory_space<vmem>>, %k: index) {
  %0 = tpu.strided_load %r[%k, %k] {strides = array<i32: 0, 1>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
  // expected-error @below {{needs strides of 0 or more, has -1}}
  %1 = tpu.strided_load %r[%k, %k] {strides = array<i32: -1, 1>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
  return
}

// -----

func.func @f(%r: memref<8x128xf32, #tpu.memory_space<vmem>>, %k: index) {
  // expected-error @below {{needs a stride for each of the ref's 2 dimensions, has 1}}
  %1 = tpu.strided_load %r[%k, %k] {strides = array<i32: 1>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
  return
}

// -----

func.func @f(%r: memref<8x128xf32, #tpu.memory_space<vmem>>, %k: index) {
  // expected-error @below {{needs a vector of the ref's rank 2, has 'vector<128xf32>'}}
  %1 = tpu.strided_load %r[%k, %k] {strides = array<i32: 1, 1>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<128xf32>
  return
}

// -----

func.func @f(%r: memref<8x128xf32, #tpu.memory_space<vmem>>, %k: index, %v: vector<8x128xf32>) {
  // expected-error @below {{needs strides of 1 or more, has 0}}
  tpu.strided_store %r[%k, %k], %v {strides = array<i32: 0, 1>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
  return
}

// -----

func.func @f(%r: memref<8x128xf32, #tpu.memory_space<vmem>>, %i: i32) {
  // expected-error @below {{needs a slice of at most size 8 in dimension 0, has 16}}
  %0 = tpu.memref_slice %r[%i, %i] : memref<8x128xf32, #tpu.memory_space<vmem>> -> memref<16x128xf32, #tpu.memory_space<vmem>>
  return
}

// -----

func.func @f(%r: memref<8x128xf32, #tpu.memory_space<vmem>>, %i: i32) {
  // expected-error @below {{needs an index for each of the ref's 2 dimensions, has 1}}
  %0 = tpu.memref_slice %r[%i] : memref<8x128xf32, #tpu.memory_space<vmem>> -> memref<8x128xf32, #tpu.memory_space<vmem>>
  return
}

// -----

func.func @f(%r: memref<8x128xf32, #tpu.memory_space<vmem>>, %i: i32) {
  // expected-error @below {{needs a result in the ref's memory space, has 'memref<8x128xf32, #tpu.memory_space<any>>' of 'memref<8x128xf32, #tpu.memory_space<vmem>>'}}
  %0 = tpu.memref_slice %r[%i, %i] : memref<8x128xf32, #tpu.memory_space<vmem>> -> memref<8x128xf32, #tpu.memory_space<any>>
  return
}

// -----

func.func @f(%r: memref<8x128xf32, #tpu.memory_space<vmem>>, %i: i32) {
  // expected-error @below {{needs a size for each of the result's 1 dynamic dimensions, has 0}}
  %0 = tpu.memref_slice %r[%i, %i] : memref<8x128xf32, #tpu.memory_space<vmem>> -> memref<?x128xf32, #tpu.memory_space<vmem>>
  return
}

// -----

func.func @f(%r: memref<8x128xf32, #tpu.memory_space<vmem>>, %i: i32) {
  // expected-error @below {{needs a result of the ref's rank 2, has 'memref<128xf32, #tpu.memory_space<vmem>>'}}
  %0 = tpu.memref_slice %r[%i, %i] : memref<8x128xf32, #tpu.memory_space<vmem>> -> memref<128xf32, #tpu.memory_space<vmem>>
  return
}

// -----

func.func @f(%r: memref<8x128xf32, #tpu.memory_space<vmem>>, %i: i32) {
  // expected-error @below {{needs a result of 'f32', has 'memref<8x128xi32, #tpu.memory_space<vmem>>'}}
  %0 = tpu.memref_slice %r[%i, %i] : memref<8x128xf32, #tpu.memory_space<vmem>> -> memref<8x128xi32, #tpu.memory_space<vmem>>
  return
}

// -----

func.func @f(%r: memref<1x8x1x128xf32, #tpu.memory_space<vmem>>) {
  // expected-error @below {{needs a result that lacks only dimensions of size 1, has 8x1 of 1x8x1x128}}
  %0 = tpu.memref_squeeze %r : memref<1x8x1x128xf32, #tpu.memory_space<vmem>> -> memref<8x1xf32, #tpu.memory_space<vmem>>
  return
}

// -----

func.func @f(%r: memref<1x8x1x128xf32, #tpu.memory_space<vmem>>) {
  // expected-error @below {{needs a result of 1024 elements, has 512}}
  %0 = tpu.memref_reshape %r : memref<1x8x1x128xf32, #tpu.memory_space<vmem>> -> memref<8x64xf32, #tpu.memory_space<vmem>>
  return
}

// -----

func.func @f(%r: memref<8x128xf32, #tpu.memory_space<vmem>>) {
  // expected-error @below {{needs a result of shape 16x128, has 8x128}}
  %0 = tpu.memref_bitcast %r : memref<8x128xf32, #tpu.memory_space<vmem>> -> memref<8x128xbf16, #tpu.memory_space<vmem>>
  return
}

// -----

func.func @f(%r: memref<8x128xf32, #tpu.memory_space<vmem>>) {
  // expected-error @below {{needs a result of shape 16x128, has 8x256}}
  %0 = tpu.memref_bitcast %r : memref<8x128xf32, #tpu.memory_space<vmem>> -> memref<8x256xbf16, #tpu.memory_space<vmem>>
  return
}

// -----

func.func @f(%a: i32) {
  // expected-error @below {{needs a tpu.yield of its 1 results, has another of 0 values}}
  %0 = "tpu.region"() ({ "tpu.yield"() : () -> () }) : () -> (i32)
  return
}

// -----

func.func @f(%a: i32) {
  // expected-error @below {{needs a tpu.yield of its 1 results, has another of 1 values}}
  %0 = "tpu.region"() ({ tpu.yield %a : i32 }) : () -> (f32)
  return
}
