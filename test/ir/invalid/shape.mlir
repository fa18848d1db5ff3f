// What the verifiers refuse: one message per constraint.
// RUN: smalti-opt %s -split-input-file -verify-diagnostics

func.func @f() {
  // expected-error @below {{needs a dimension below the rank 2, has 2}}
  %0 = tpu.iota {dimensions = array<i32: 2>} : vector<8x128xi32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{has dimension 0 twice}}
  %0 = tpu.iota {dimensions = array<i32: 0,0>} : vector<8x128xi32>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>) {
  // expected-error @below {{needs a dimension below the rank 2, has 2}}
  %0 = tpu.concatenate %a, %a in 2 : vector<8x128xf32>, vector<8x128xf32> -> vector<8x256xf32>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>) {
  // expected-error @below {{needs a result of size 256 in dimension 1, has 128}}
  %0 = tpu.concatenate %a, %a in 1 : vector<8x128xf32>, vector<8x128xf32> -> vector<8x128xf32>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>) {
  // expected-error @below {{needs 2 or more vectors, has 1}}
  %0 = tpu.concatenate %a in 1 : vector<8x128xf32> -> vector<8x128xf32>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>) {
  // expected-error @below {{has dimension 0 twice in its permutation}}
  %0 = tpu.transpose %a, [0, 0] : vector<8x128xf32> -> vector<8x8xf32>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>) {
  // expected-error @below {{needs size 128 in dimension 0 of its result, has 8}}
  %0 = tpu.transpose %a, [1, 0] : vector<8x128xf32> -> vector<8x128xf32>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>, %i: i32) {
  // expected-error @below {{needs a dimension below the rank 2, has 2}}
  %0 = tpu.dynamic_rotate %a by %i dim 2 : vector<8x128xf32>, i32 -> vector<8x128xf32>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>, %i: i32) {
  // expected-error @below {{needs stride and stride_dimension together}}
  %0 = tpu.dynamic_rotate %a by %i dim 1 {stride = 1 : si32} : vector<8x128xf32>, i32 -> vector<8x128xf32>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>, %i: i32) {
  // expected-error @below {{needs a stride of 0 or more, has -1}}
  %0 = tpu.dynamic_rotate %a by %i dim 1 {stride = -1 : si32, stride_dimension = 0 : si32} : vector<8x128xf32>, i32 -> vector<8x128xf32>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>, %i: i32) {
  // expected-error @below {{needs a stride_dimension other than the rotated one, has 1 twice}}
  %0 = tpu.dynamic_rotate %a by %i dim 1 {stride = 1 : si32, stride_dimension = 1 : si32} : vector<8x128xf32>, i32 -> vector<8x128xf32>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>, %i: vector<8x128xi32>) {
  // expected-error @below {{needs a dimension below the rank 2, has 2}}
  %0 = tpu.dynamic_gather %a[%i] in [2] : vector<8x128xf32>, vector<8x128xi32> -> vector<8x128xf32>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>, %i: vector<16x128xi32>) {
  // expected-error @below {{needs a result of size 8 in dimension 0, along which nothing is gathered, has 16}}
  %0 = tpu.dynamic_gather %a[%i] in [1] : vector<8x128xf32>, vector<16x128xi32> -> vector<16x128xf32>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>) {
  // expected-error @below {{needs a dimension below the rank 2, has 2}}
  %0 = tpu.reduce_index %a {axis = 2 : i32, kind = #tpu.reduction_kind<arg_min>} : vector<8x128xf32> -> vector<8xi32>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>) {
  // expected-error @below {{needs the kind arg_max or arg_min, has sum}}
  %0 = tpu.reduce_index %a {axis = 1 : i32, kind = #tpu.reduction_kind<sum>} : vector<8x128xf32> -> vector<8xi32>
  return
}

// -----

func.func @f(%a: vector<8x128xi32>) {
  // expected-error @below {{needs an input of f32 or bf16, has 'vector<8x128xi32>'}}
  %0 = tpu.reduce_index %a {axis = 1 : i32, kind = #tpu.reduction_kind<arg_max>} : vector<8x128xi32> -> vector<8xi32>
  return
}

// -----

func.func @f(%a: vector<8x128xbf16>) {
  // expected-error @below {{needs a result of i16 for an input of 'bf16', has 'vector<8xi32>'}}
  %0 = tpu.reduce_index %a {axis = 1 : i32, kind = #tpu.reduction_kind<arg_max>} : vector<8x128xbf16> -> vector<8xi32>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>) {
  // expected-error @below {{needs a result of shape 8, has 8x1}}
  %0 = tpu.reduce_index %a {axis = 1 : i32, kind = #tpu.reduction_kind<arg_max>} : vector<8x128xf32> -> vector<8x1xi32>
  return
}

// -----

func.func @f(%a: vector<128xf32>) {
  // expected-error @below {{needs an input of 2 or more dimensions, has 'vector<128xf32>'}}
  %0 = tpu.reduce_index %a {axis = 0 : i32, kind = #tpu.reduction_kind<arg_max>} : vector<128xf32> -> vector<i32>
  return
}
