// What the verifier of a convolution refuses: one message per constraint.
// RUN: smalti-opt %s -split-input-file -verify-diagnostics

func.func @f(%a: vector<2x8x8x4xf32>, %b: vector<3x3x4x6xf32>, %c: vector<2x6x6x6xi32>) {
  // expected-error @below {{needs an accumulator of floats, has 'vector<2x6x6x6xi32>'}}
  %0 = "tpu.conv"(%a, %b, %c) <{dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1, 2]>, window_strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (vector<2x8x8x4xf32>, vector<3x3x4x6xf32>, vector<2x6x6x6xi32>) -> vector<2x6x6x6xi32>
  return
}

// -----

func.func @f(%a: vector<2x8x8x4xi8>, %b: vector<3x3x4x6xi8>, %c: vector<2x6x6x6xf32>) {
  // expected-error @below {{needs an accumulator of integers, has 'vector<2x6x6x6xf32>'}}
  %0 = "tpu.conv"(%a, %b, %c) <{dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1, 2]>, window_strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (vector<2x8x8x4xi8>, vector<3x3x4x6xi8>, vector<2x6x6x6xf32>) -> vector<2x6x6x6xf32>
  return
}

// -----

func.func @f(%a: vector<2x8x8x4xf32>, %b: vector<3x3x4x6xf32>, %c: vector<2x6x6x6xf32>) {
  // expected-error @below {{needs each of the 4 dimensions of lhs once in its dimension numbers, has [0, 3, 1, 1]}}
  %0 = "tpu.conv"(%a, %b, %c) <{dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 1], 2, 3, [0, 1], 0, 3, [1, 2]>, window_strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (vector<2x8x8x4xf32>, vector<3x3x4x6xf32>, vector<2x6x6x6xf32>) -> vector<2x6x6x6xf32>
  return
}

// -----

func.func @f(%a: vector<2x8x8x4xf32>, %b: vector<3x3x4x6xf32>, %c: vector<2x6x6x6xf32>) {
  // expected-error @below {{needs each of the 4 dimensions of rhs once in its dimension numbers, has [2, -3, 0, 1]}}
  %0 = "tpu.conv"(%a, %b, %c) <{dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, -3, [0, 1], 0, 3, [1, 2]>, window_strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (vector<2x8x8x4xf32>, vector<3x3x4x6xf32>, vector<2x6x6x6xf32>) -> vector<2x6x6x6xf32>
  return
}

// -----

func.func @f(%a: vector<2x8x8x4xf32>, %b: vector<3x3x4x6xf32>, %c: vector<2x6x6x6xf32>) {
  // expected-error @below {{needs each of the 4 dimensions of the result once in its dimension numbers, has [0, 3, 1]}}
  %0 = "tpu.conv"(%a, %b, %c) <{dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1]>, window_strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (vector<2x8x8x4xf32>, vector<3x3x4x6xf32>, vector<2x6x6x6xf32>) -> vector<2x6x6x6xf32>
  return
}

// -----

func.func @f(%a: vector<2x8x8x4xf32>, %b: vector<3x4x6xf32>, %c: vector<2x6x6x6xf32>) {
  // expected-error @below {{needs operands of one rank, has 4, 3 and 4}}
  %0 = "tpu.conv"(%a, %b, %c) <{dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 1, 2, [0], 0, 3, [1, 2]>, window_strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (vector<2x8x8x4xf32>, vector<3x4x6xf32>, vector<2x6x6x6xf32>) -> vector<2x6x6x6xf32>
  return
}

// -----

func.func @f(%a: vector<2x8x8x4xf32>, %b: vector<3x3x4x6xf32>, %c: vector<2x6x6x6xf32>) {
  // expected-error @below {{needs 2 entries of window_strides for its spatial dimensions, has 1}}
  %0 = "tpu.conv"(%a, %b, %c) <{dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1, 2]>, window_strides = array<i64: 1>, padding = array<i64: 0, 0, 0, 0>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (vector<2x8x8x4xf32>, vector<3x3x4x6xf32>, vector<2x6x6x6xf32>) -> vector<2x6x6x6xf32>
  return
}

// -----

func.func @f(%a: vector<2x8x8x4xf32>, %b: vector<3x3x4x6xf32>, %c: vector<2x6x6x6xf32>) {
  // expected-error @below {{needs 4 entries of padding for its spatial dimensions, has 2}}
  %0 = "tpu.conv"(%a, %b, %c) <{dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1, 2]>, window_strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (vector<2x8x8x4xf32>, vector<3x3x4x6xf32>, vector<2x6x6x6xf32>) -> vector<2x6x6x6xf32>
  return
}

// -----

func.func @f(%a: vector<2x8x8x4xf32>, %b: vector<3x3x4x6xf32>, %c: vector<2x6x6x6xf32>) {
  // expected-error @below {{needs entries of window_strides from 1 to 2147483648, has 0}}
  %0 = "tpu.conv"(%a, %b, %c) <{dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1, 2]>, window_strides = array<i64: 1, 0>, padding = array<i64: 0, 0, 0, 0>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (vector<2x8x8x4xf32>, vector<3x3x4x6xf32>, vector<2x6x6x6xf32>) -> vector<2x6x6x6xf32>
  return
}

// -----

func.func @f(%a: vector<2x8x8x4xf32>, %b: vector<3x3x4x6xf32>, %c: vector<2x6x6x6xf32>) {
  // expected-error @below {{needs entries of padding from -2147483648 to 2147483648, has -9223372036854775807}}
  %0 = "tpu.conv"(%a, %b, %c) <{dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1, 2]>, window_strides = array<i64: 1, 1>, padding = array<i64: 0, 0, -9223372036854775807, 0>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (vector<2x8x8x4xf32>, vector<3x3x4x6xf32>, vector<2x6x6x6xf32>) -> vector<2x6x6x6xf32>
  return
}

// -----

func.func @f(%a: vector<2x8x8x4xf32>, %b: vector<3x3x4x6xf32>, %c: vector<2x6x6x6xf32>) {
  // expected-error @below {{needs entries of lhs_dilation from 1 to 2147483648, has -1}}
  %0 = "tpu.conv"(%a, %b, %c) <{dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1, 2]>, window_strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, lhs_dilation = array<i64: -1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (vector<2x8x8x4xf32>, vector<3x3x4x6xf32>, vector<2x6x6x6xf32>) -> vector<2x6x6x6xf32>
  return
}

// -----

func.func @f(%a: vector<2x8x8x4xf32>, %b: vector<3x3x4x6xf32>, %c: vector<2x6x6x6xf32>) {
  // expected-error @below {{needs entries of rhs_dilation from 1 to 2147483648, has 9223372036854775807}}
  %0 = "tpu.conv"(%a, %b, %c) <{dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1, 2]>, window_strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 9223372036854775807>, window_reversal = array<i1: false, false>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (vector<2x8x8x4xf32>, vector<3x3x4x6xf32>, vector<2x6x6x6xf32>) -> vector<2x6x6x6xf32>
  return
}

// -----

func.func @f(%a: vector<2x8x8x4xf32>, %b: vector<3x3x4x6xf32>, %c: vector<2x6x6x6xf32>) {
  // expected-error @below {{needs 2 entries of window_reversal for its spatial dimensions, has 3}}
  %0 = "tpu.conv"(%a, %b, %c) <{dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1, 2]>, window_strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false, true>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (vector<2x8x8x4xf32>, vector<3x3x4x6xf32>, vector<2x6x6x6xf32>) -> vector<2x6x6x6xf32>
  return
}

// -----

func.func @f(%a: vector<2x8x8x4xf32>, %b: vector<3x3x4x6xf32>, %c: vector<2x6x6x6xf32>) {
  // expected-error @below {{needs a feature_group_count of 1 or more, has 0}}
  %0 = "tpu.conv"(%a, %b, %c) <{dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1, 2]>, window_strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, feature_group_count = 0 : i64, batch_group_count = 1 : i64}> : (vector<2x8x8x4xf32>, vector<3x3x4x6xf32>, vector<2x6x6x6xf32>) -> vector<2x6x6x6xf32>
  return
}

// -----

func.func @f(%a: vector<2x8x8x4xf32>, %b: vector<3x3x4x6xf32>, %c: vector<2x6x6x6xf32>) {
  // expected-error @below {{needs a feature_group_count that divides 4, has 3}}
  %0 = "tpu.conv"(%a, %b, %c) <{dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1, 2]>, window_strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, feature_group_count = 3 : i64, batch_group_count = 1 : i64}> : (vector<2x8x8x4xf32>, vector<3x3x4x6xf32>, vector<2x6x6x6xf32>) -> vector<2x6x6x6xf32>
  return
}

// -----

func.func @f(%a: vector<2x8x8x4xf32>, %b: vector<3x3x2x7xf32>, %c: vector<2x6x6x7xf32>) {
  // expected-error @below {{needs a feature_group_count that divides 7, has 2}}
  %0 = "tpu.conv"(%a, %b, %c) <{dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1, 2]>, window_strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, feature_group_count = 2 : i64, batch_group_count = 1 : i64}> : (vector<2x8x8x4xf32>, vector<3x3x2x7xf32>, vector<2x6x6x7xf32>) -> vector<2x6x6x7xf32>
  return
}

// -----

func.func @f(%a: vector<2x8x8x4xf32>, %b: vector<3x3x4x6xf32>, %c: vector<2x6x6x6xf32>) {
  // expected-error @below {{needs a batch_group_count of 1 or more, has -2}}
  %0 = "tpu.conv"(%a, %b, %c) <{dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1, 2]>, window_strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, feature_group_count = 1 : i64, batch_group_count = -2 : i64}> : (vector<2x8x8x4xf32>, vector<3x3x4x6xf32>, vector<2x6x6x6xf32>) -> vector<2x6x6x6xf32>
  return
}

// -----

func.func @f(%a: vector<2x8x8x4xf32>, %b: vector<3x3x4x6xf32>, %c: vector<2x6x6x6xf32>) {
  // expected-error @below {{needs a batch_group_count that divides 2, has 3}}
  %0 = "tpu.conv"(%a, %b, %c) <{dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1, 2]>, window_strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, feature_group_count = 1 : i64, batch_group_count = 3 : i64}> : (vector<2x8x8x4xf32>, vector<3x3x4x6xf32>, vector<2x6x6x6xf32>) -> vector<2x6x6x6xf32>
  return
}

// -----

func.func @f(%a: vector<2x8x8x4xf32>, %b: vector<3x3x2x6xf32>, %c: vector<2x6x6x6xf32>) {
  // expected-error @below {{needs groups of features or of batches, has 2 and 2}}
  %0 = "tpu.conv"(%a, %b, %c) <{dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1, 2]>, window_strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, feature_group_count = 2 : i64, batch_group_count = 2 : i64}> : (vector<2x8x8x4xf32>, vector<3x3x2x6xf32>, vector<2x6x6x6xf32>) -> vector<2x6x6x6xf32>
  return
}

// -----

func.func @f(%a: vector<2x8x8x4xf32>, %b: vector<3x3x4x6xf32>, %c: vector<2x6x6x6xf32>) {
  // expected-error @below {{needs 2 input features of rhs (4 of lhs in 2 groups), has 4}}
  %0 = "tpu.conv"(%a, %b, %c) <{dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1, 2]>, window_strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, feature_group_count = 2 : i64, batch_group_count = 1 : i64}> : (vector<2x8x8x4xf32>, vector<3x3x4x6xf32>, vector<2x6x6x6xf32>) -> vector<2x6x6x6xf32>
  return
}

// -----

func.func @f(%a: vector<2x8x8x4xf32>, %b: vector<3x9x4x6xf32>, %c: vector<2x6x6x6xf32>) {
  // expected-error @below {{needs a window within the padded lhs, has 9 of 8 along spatial dimension 1}}
  %0 = "tpu.conv"(%a, %b, %c) <{dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1, 2]>, window_strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (vector<2x8x8x4xf32>, vector<3x9x4x6xf32>, vector<2x6x6x6xf32>) -> vector<2x6x6x6xf32>
  return
}

// -----

func.func @f(%a: vector<2x8x8x4xf32>, %b: vector<3x3x4x6xf32>, %c: vector<2x6x6x6xf32>) {
  // expected-error @below {{needs a result of shape 2x6x3x6, has 2x6x6x6}}
  %0 = "tpu.conv"(%a, %b, %c) <{dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1, 2]>, window_strides = array<i64: 1, 2>, padding = array<i64: 0, 0, 0, 0>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (vector<2x8x8x4xf32>, vector<3x3x4x6xf32>, vector<2x6x6x6xf32>) -> vector<2x6x6x6xf32>
  return
}

// -----

func.func @f(%a: vector<2x4xf32>, %b: vector<4x6xf32>, %c: vector<2x6xf32>) {
  // expected-error @below {{op requires attribute 'lhs_dilation'}}
  %0 = "tpu.conv"(%a, %b, %c) <{dimension_numbers = #tpu.conv_dimension_numbers<0, 1, [], 0, 1, [], 0, 1, []>, window_strides = array<i64>}> : (vector<2x4xf32>, vector<4x6xf32>, vector<2x6xf32>) -> vector<2x6xf32>
  return
}
