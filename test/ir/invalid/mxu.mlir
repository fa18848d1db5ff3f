// What the verifiers refuse: one message per constraint.
// RUN: smalti-opt %s -split-input-file -verify-diagnostics

func.func @f(%a: vector<8x128xf32>, %b: vector<128x128xf32>, %c: vector<8x128xbf16>) {
  // expected-error @below {{needs a 32-bit accumulator, has 'vector<8x128xbf16>'}}
  %0 = "tpu.matmul"(%a, %b, %c) <{transpose_lhs_hint=false, dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>}> : (vector<8x128xf32>, vector<128x128xf32>, vector<8x128xbf16>) -> vector<8x128xbf16>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>, %b: vector<64x128xf32>, %c: vector<8x128xf32>) {
  // expected-error @below {{needs contracting dimensions of one size, has 128 of lhs and 64 of rhs}}
  %0 = "tpu.matmul"(%a, %b, %c) <{transpose_lhs_hint=false, dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>}> : (vector<8x128xf32>, vector<64x128xf32>, vector<8x128xf32>) -> vector<8x128xf32>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>, %b: vector<128x128xf32>, %c: vector<16x128xf32>) {
  // expected-error @below {{needs a result of shape 8x128, has 16x128}}
  %0 = "tpu.matmul"(%a, %b, %c) <{transpose_lhs_hint=false, dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>}> : (vector<8x128xf32>, vector<128x128xf32>, vector<16x128xf32>) -> vector<16x128xf32>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>, %b: vector<128x128xf32>, %c: vector<8x128xf32>) {
  // expected-error @below {{needs contracting dimensions of one size, has 8 of lhs and 128 of rhs}}
  %0 = "tpu.matmul"(%a, %b, %c) <{transpose_lhs_hint=false, transpose_lhs=true}> : (vector<8x128xf32>, vector<128x128xf32>, vector<8x128xf32>) -> vector<8x128xf32>
  return
}

// -----

func.func @f(%a: vector<8x128xi8>, %b: vector<128x128xf32>, %c: vector<8x128xi32>) {
  // expected-error @below {{needs an accumulator of floats, has 'vector<8x128xi32>'}}
  %0 = "tpu.matmul"(%a, %b, %c) <{transpose_lhs_hint=false, dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>}> : (vector<8x128xi8>, vector<128x128xf32>, vector<8x128xi32>) -> vector<8x128xi32>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>) {
  // expected-error @below {{needs a matrix unit of 0 or more, has -1}}
  tpu.matmul_push_rhs %a {mxu_index = -1 : i32} : vector<8x128xf32>
  return
}

// -----

func.func @f(%a: vector<128xf32>) {
  // expected-error @below {{needs a rhs of 2 dimensions, has 1}}
  tpu.matmul_push_rhs %a {mxu_index = 0 : i32} : vector<128xf32>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>) {
  // expected-error @below {{needs a result of 2 dimensions, has 3}}
  %0 = tpu.matmul_pop_fifo 3 : vector<8x2x128xi8>
  return
}
